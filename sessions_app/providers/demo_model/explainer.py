"""The explaining example: the same question, explained for whoever the system prompt names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .conversation import Conversation, Reply
from .reading import topic

_AUDIENCE = re.compile(r"\bExplain the answer for (?:a|an) (\w+)")
EXAMPLE = "“Why is the sky blue?”"

_TOPICS: Mapping[str, Mapping[str, str]] = {
    "sky": {
        "child": (
            "Sunlight has all the colours of a rainbow in it. When it comes down to us, the air bounces the blue part "
            "around the most, a bit like a ball between many friends. So blue light comes to your eyes from everywhere."
        ),
        "beginner": (
            "Sunlight is a mixture of colours, and blue light has shorter waves than red light. The tiny molecules of "
            "the air scatter short waves much more than long ones, so blue reaches us from every part of the sky."
        ),
        "expert": (
            "Rayleigh scattering by molecules much smaller than the wavelength goes with λ⁻⁴, so 450 nm is scattered "
            "about four times as strongly as 640 nm. The sky is blue and not violet because the solar spectrum falls "
            "off there and the eye's cones are less sensitive."
        ),
    },
    "tide": {
        "child": (
            "The Moon pulls at the sea, as if with a long soft rope. The water makes a bump there, and the Earth turns "
            "beneath it. When your beach comes to the bump, the water is high."
        ),
        "beginner": (
            "The Moon pulls more strongly at the near side of the Earth than at the far side. That stretches the ocean "
            "into two bulges, and as the Earth turns, most coasts pass both, which gives two high tides a day."
        ),
        "expert": (
            "Tides follow the gradient of the Moon's and the Sun's gravity, which falls with the cube of the distance, "
            "so the Sun adds a little less than half of the lunar part. The real height is a forced response of the "
            "basins: resonance, friction and the Coriolis force turn two bulges into waves around amphidromic points."
        ),
    },
    "rainbow": {
        "child": (
            "A raindrop is like a tiny glass ball. Sunlight goes in, bounces off the back and comes out in pieces: "
            "red, yellow, green, blue. Many drops together paint the bow."
        ),
        "beginner": (
            "Light bends when it enters a raindrop, is reflected at its back and bends again on its way out. Each "
            "colour bends by a slightly different angle, so you see red from higher drops and violet from lower ones."
        ),
        "expert": (
            "The bow stands where the deflection of a ray with one internal reflection is stationary: about 138° for "
            "red, so 42° from the antisolar point. Dispersion moves that angle by some 2° from red to violet, and the "
            "caustic there is why the light piles up at the rim; the secondary bow has two reflections at 51°."
        ),
    },
}


def explain(conversation: Conversation) -> Reply | None:
    """“Why is the sky blue?”, for a child, a beginner or an expert."""
    named = _AUDIENCE.search(conversation.system)
    if named is None:
        return None
    audience = named[1]
    texts = topic(conversation.said, _TOPICS)
    if texts is None or audience not in texts:
        return Reply(
            f"I would explain that for {_with_article(audience)}, but the demo model knows only three things: why the "
            f"sky is blue, where tides come from, and how a rainbow is made. Write for example {EXAMPLE}."
        )
    return Reply(f"For {_with_article(audience)}: {texts[audience]}")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
