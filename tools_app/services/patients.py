"""A register of patients. All of them are made up; the record of P4040 cannot be loaded, so that this can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from .pace import answer_time

PatientId = Literal["P1001", "P1002", "P4040"]
OUT_OF_ORDER = "P4040"


class RegisterDown(Exception):
    """The register did not answer."""


@dataclass(frozen=True)
class Record:
    """What the register holds about a patient."""

    name: str
    born: date
    allergies: tuple[str, ...]
    medication: tuple[str, ...]
    next_appointment: date


RECORDS = {
    "P1001": Record("Ada Sample", date(1961, 4, 2), ("Penicillin",), ("Ramipril 5 mg, mornings",), date(2030, 5, 14)),
    "P1002": Record("Ben Placeholder", date(1998, 11, 23), (), ("Salbutamol spray, as needed",), date(2030, 6, 3)),
}


async def find_record(patient_id: PatientId) -> Record:
    """Return a patient's record. Raises `RegisterDown`."""
    await answer_time()
    if patient_id == OUT_OF_ORDER:
        raise RegisterDown("The register did not answer.")
    return RECORDS[patient_id]
