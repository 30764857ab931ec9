// htmx posts and swaps; here is what it has no word for. The socket too: hx-ws 4.0.1 tells nobody its delay and cannot
// reconnect at once, so no countdown, no "Reconnect now" and no `online` can be built on it.
"use strict";

const byId = (id) => document.getElementById(id);
const on = (target, name, act) => target.addEventListener(name, act);
const each = (selector, act, root = document) => root.querySelectorAll(selector).forEach(act);
const say = (name, values = {}) =>
  Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), main.dataset[name]);
const main = byId("main");

// Times: by the server's clock, in the viewer's zone.

let ahead = 0;
const setClock = (seconds) => (ahead = seconds * 1000 - Date.now());
const pad = (number) => String(number).padStart(2, "0");

function clock(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

const put = (element, text) => element.textContent === text || (element.textContent = text);

function showTimes() {
  const now = Date.now() + ahead;
  each("[data-since]", (element) => {
    const seconds = Math.floor((now - Date.parse(element.dataset.since)) / 1000);
    put(element, seconds < 2 ? "" : clock(seconds));
  });
  each("[data-due]", (element) =>
    put(element, clock(Math.max(0, Math.ceil((Date.parse(element.dataset.due) - now) / 1000)))));
}

function showMoments() {
  const today = new Date().toDateString();
  each("time[datetime]:not([title])", (element) => {
    const moment = new Date(element.dateTime);
    const isLong = moment.toDateString() !== today;
    element.title = moment.toLocaleString();
    element.textContent = moment.toLocaleString([], { dateStyle: isLong ? "medium" : undefined, timeStyle: "short" });
  });
}

// Drafts: kept in this tab until sent or signed out.

const draftKey = (form) => `draft:${location.pathname}:${form.id}`;
const isTick = (field) => field.type === "radio" || field.type === "checkbox";
const fieldsOf = (form) =>
  [...form.elements].filter((field) => field.name && !/^(hidden|password|submit)$/.test(field.type) && field.name[0] !== "_");
const isTouched = (field) =>
  isTick(field) ? field.checked !== field.defaultChecked
  : field.options ? !field.selectedOptions[0]?.defaultSelected && field.value
  : field.value !== field.defaultValue;

function saveDraft(form) {
  const values = fieldsOf(form).map((field) => [field.name, isTick(field) ? field.checked : field.value]);
  sessionStorage.setItem(draftKey(form), JSON.stringify(values));
}

const restored = new WeakSet();
function restoreDrafts() {
  each("form[data-draft]", (form) => {
    const stored = !restored.has(form) && sessionStorage.getItem(draftKey(form));
    restored.add(form);
    if (!stored || form.querySelector(".problem")) return;
    const fields = fieldsOf(form);
    JSON.parse(stored).forEach(([name, value], index) => {
      const field = fields[index];
      if (field?.name !== name || isTouched(field)) return;
      isTick(field) ? (field.checked = value) : (field.value = value);
    });
  });
  each("textarea", fit);
}

const grows = CSS.supports("field-sizing", "content");
function fit(box) {
  if (grows || box.readOnly) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

on(document, "input", (event) => {
  const form = event.target.form;
  if (form?.matches("[data-draft]")) saveDraft(form);
  if (event.target.matches("textarea")) fit(event.target);
});
on(document, "submit", (event) => {
  if (!event.target.action.endsWith("/logout/")) return;
  Object.keys(sessionStorage).filter((key) => key.startsWith("draft:")).forEach((key) => sessionStorage.removeItem(key));
});

// A key out of the browser's cache may be used up.
const renew = (root) => each("[data-new]", (key) => (key.value = Date.now() + "-" + Math.random()), root);
on(window, "pageshow", () => renew());

// Scrolling: follow the end for a reader who is there.

let following = true;
let unseen = 0;
const page = document.scrollingElement;
const atEnd = () => page.scrollHeight - innerHeight - scrollY < 80;
const toEnd = (behavior = "instant") => scrollTo({ top: page.scrollHeight, behavior });

function isReading() {
  const items = byId("items");
  const selection = getSelection();
  if (!selection.isCollapsed && items.contains(selection.anchorNode)) return true;
  const focused = document.activeElement;
  return items.contains(focused) && !focused.matches("article") && !items.lastElementChild.contains(focused);
}

function showNewer() {
  const newer = byId("newer");
  if (atEnd()) unseen = 0;
  newer.hidden = !unseen;
  newer.lastElementChild.textContent = unseen === 1 ? newer.dataset.one : newer.dataset.more.replace("{n}", unseen);
}

function settle() {
  if (following && !isReading()) toEnd();
  showNewer();
}

function startScrolling() {
  history.scrollRestoration = "manual";
  if (!location.hash || location.hash === "#latest") toEnd();
  on(window, "scroll", () => {
    following = atEnd();
    showNewer();
  });
  on(byId("newer"), "click", () => {
    following = true;
    toEnd(matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");
  });
  new ResizeObserver(() => following && !isReading() && toEnd()).observe(document.querySelector(".dock"));
}

// Frames: parts of the page. One older than the page is left aside.

let seq = +main?.dataset.seq;
let morph;

function place(style, target, fragment, spec) {
  if (style !== "place") return false;
  let before = spec.after ? byId(spec.after) : null;
  // An item whose neighbour is not shown belongs to the earlier part of the conversation.
  const isElsewhere = spec.after && !before;
  const placed = [];
  const isEarlier = !before && target.firstElementChild;
  const below = page.scrollHeight - scrollY;
  for (const fresh of [...fragment.children]) {
    let item = byId(fresh.id);
    if (isElsewhere) {
      item?.remove();
      continue;
    }
    if (item) {
      const alone = new DocumentFragment();
      alone.append(fresh);
      morph(item, alone, false);
      item = byId(fresh.id);
    } else {
      item = fresh;
      if (!isEarlier) unseen += 1;
    }
    const next = before ? before.nextSibling : target.firstChild;
    const move = item.isConnected && target.moveBefore ? "moveBefore" : "insertBefore";
    if (!item.isConnected || (item !== next && item.previousElementSibling !== before)) target[move](item, next);
    before = item;
    placed.push(item);
  }
  if (isEarlier) scrollTo(0, page.scrollHeight - below);
  return placed;
}

let typed = [];
let focusedItem = "";

function beforeSwap(event) {
  const { ctx, tasks } = event.detail;
  const theirs = +(ctx.response?.headers.get("X-Agentsite-Seq") ?? ctx.seq ?? Infinity);
  if (theirs < seq) tasks.splice(0, tasks.length, ...tasks.filter((task) => /^(composer-key|kept-)/.test(task.target?.id)));
  // A post's answer brings no parts while the socket does.
  else if (theirs < Infinity && !ctx.request?.headers["X-Agentsite-Live"]) seq = theirs;
  for (const task of tasks)
    each(".stream", (fresh) => {
      const shown = byId(fresh.id);
      const isSame = shown?.dataset.attempt === fresh.dataset.attempt && shown.dataset.no === fresh.dataset.no;
      if (!isSame || +shown.dataset.length <= +fresh.dataset.length) return;
      // What was streamed since the row was saved stays.
      fresh.textContent = shown.textContent;
      fresh.dataset.length = shown.dataset.length;
    }, task.fragment);
  typed = [...document.querySelectorAll("form[data-draft][data-item]")]
    .filter((form) => !("sent" in form.dataset) && fieldsOf(form).some(isTouched))
    .map((form) => [form, fieldsOf(form).filter((field) => !isTick(field)).map((field) => field.value).join("\n")]);
  focusedItem = document.activeElement?.closest?.("article")?.id;
}

function afterSwap(event) {
  for (const [form, text] of typed) {
    const kept = byId(`kept-${form.dataset.item}`);
    if (form.isConnected || !kept || kept.firstElementChild || !text.trim()) continue;
    const make = (name, values) => kept.appendChild(Object.assign(document.createElement(name), values));
    make("p", { textContent: say("sayKept") });
    make("textarea", { readOnly: true, value: text, className: "control", rows: 3, ariaLabel: say("sayKept") });
  }
  typed = [];
  const item = document.activeElement === document.body && byId(focusedItem);
  if (item) {
    item.tabIndex = -1;
    item.focus({ preventScroll: true });
  }
  if (event?.detail.ctx.response?.status === 422) document.querySelector(".ask .problem")?.focus();
  document.title = byId("head").dataset.title;
  showMoments();
  showTimes();
  restoreDrafts();
  settle();
}

function takeText({ item, attempt, no, at, text }) {
  const box = byId(`text-${item}`);
  if (!box) return;
  const shown = box.dataset;
  if (+shown.attempt !== attempt || +shown.no !== no) {
    Object.assign(shown, { attempt, no, length: 0 });
    box.textContent = "";
  }
  const known = +shown.length;
  if (at > known) return socket?.send("again");
  // Lengths are in code points, as the server counts them.
  const fresh = [...text].slice(known - at);
  if (!fresh.length) return;
  box.firstChild ? box.firstChild.appendData(fresh.join("")) : box.append(fresh.join(""));
  shown.length = known + fresh.length;
  settle();
}

async function take(message) {
  setClock(message.now);
  if (message.beat) return socket?.send("alive");
  if (message.item) return takeText(message);
  if (message.seq < seq) return;
  await htmx.swap({ sourceElement: main, target: main, swap: "none", text: message.html, seq: message.seq });
}

// The socket.

let socket = null;
let isLive = false;
let attempt = 0;
let started = 0;
let heard = 0;
let lostAt = 0;
let nextAt = 0;
let timer;
let frames = Promise.resolve();
let hasOpened = false;

function connect() {
  clearTimeout(timer);
  drop();
  const url = new URL(main.dataset.socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const first = document.querySelector("#items > article");
  // A page that was just loaded needs only what came since; any other gets the whole.
  url.search = hasOpened ? (first ? `?first=${first.id.slice(5)}` : "") : `?since=${seq}`;
  const mine = (socket = new WebSocket(url));
  started = Date.now();
  nextAt = 0;
  mine.onmessage = (event) => {
    if (mine !== socket) return;
    heard = Date.now();
    [isLive, hasOpened, attempt, lostAt] = [true, true, 0, 0];
    showConnection();
    frames = frames.then(() => take(JSON.parse(event.data))).catch(console.error);
  };
  mine.onclose = (event) => mine === socket && lost(event.code);
}

function drop() {
  const old = socket;
  socket = null;
  isLive = false;
  old?.close();
}

function lost(code) {
  drop();
  lostAt ||= Date.now();
  if (code === 4401) return end("saySignedOut");
  if (code === 4403 || code === 4404) return end("sayNoAccess");
  const delay = Math.min(8, 0.25 * 2 ** attempt) * (0.75 + Math.random() / 2) * 1000;
  attempt += 1;
  nextAt = Date.now() + delay;
  timer = setTimeout(connect, delay);
  showConnection();
  // Where no socket gets through at all, the page still moves on.
  if (attempt > 2 && navigator.onLine && !document.hidden) fetchFrame();
}

function fetchFrame() {
  htmx.ajax("GET", `${main.dataset.frame}?since=${seq}`, { source: main, target: main, swap: "none" });
}

let ended = "";
function end(reason) {
  clearTimeout(timer);
  drop();
  ended = reason;
  showConnection();
}

function showConnection() {
  const banner = byId("connection");
  const [text, button, link] = banner.children;
  const away = lostAt ? Date.now() - lostAt : 0;
  banner.hidden = navigator.onLine && (isLive || (!ended && away < 1000));
  banner.setAttribute("role", away > 10000 ? "alert" : "status");
  document.body.classList.toggle("is-live", isLive);
  const seconds = Math.ceil((nextAt - Date.now()) / 1000);
  const name = ended || (!navigator.onLine ? "sayOffline" : seconds > 0 ? "sayLost" : "sayTrying");
  put(text, say(name, { s: seconds }));
  button.hidden = Boolean(ended);
  link.hidden = ended !== "saySignedOut";
}

function again() {
  if (ended) return;
  attempt = 0;
  lostAt ||= Date.now();
  connect();
}

const HIDDEN_FOR = 10 * 60 * 1000;
let hiddenTimer;

function tick() {
  showTimes();
  const now = Date.now();
  if (socket?.readyState === 1 && now - heard > 45000) again();
  else if (socket?.readyState === 0 && now - started > 10000) lost();
  if (!isLive) showConnection();
}

function startSocket() {
  setClock(Date.parse(main.dataset.now) / 1000);
  lostAt = Date.now();
  connect();
  setInterval(tick, 1000);
  on(window, "online", again);
  on(window, "offline", showConnection);
  on(window, "pageshow", (event) => event.persisted && again());
  on(window, "pagehide", drop);
  on(document, "visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = setTimeout(drop, HIDDEN_FOR);
    else if (!isLive || Date.now() - heard > 25000) again();
  });
  on(byId("connection").children[1], "click", again);
}

// Posts.

const onHtmx = (name, act) =>
  on(document, `htmx:${name}`, (event) => event.detail.ctx?.sourceElement?.method === "post" && act(event.detail.ctx, event));

function tell(form, words) {
  const place = form.querySelector(".form-error");
  if (place) place.textContent = words;
}

function hold(form, isHeld, isSent = isHeld) {
  each("textarea", (box) => (box.readOnly = isHeld), form);
  // What this page sends for a question is not answered elsewhere.
  each(`form[data-item="${form.elements._item?.value}"]`, ({ dataset }) => (isSent ? (dataset.sent = 1) : delete dataset.sent));
}

function startPosts() {
  onHtmx("config:request", ({ request }) => {
    request.headers["X-Agentsite-Seen"] = seq;
    if (isLive) request.headers["X-Agentsite-Live"] = 1;
  });
  onHtmx("before:request", ({ sourceElement: form }) => {
    tell(form, "");
    hold(form, true);
    if (form.id === "composer") following = true;
  });
  onHtmx("error", ({ sourceElement: form }) => tell(form, say("sayNotSent")));
  onHtmx("finally:request", ({ sourceElement: form, response }) => hold(form, false, response?.status < 400));
  on(document, "htmx:after:request", (event) => {
    const { ctx } = event.detail;
    if (ctx.response.raw.redirected) {
      event.preventDefault();
      end("saySignedOut");
    } else if (ctx.sourceElement.method === "post") answered(ctx.sourceElement, ctx.response);
  });
  on(document, "htmx:before:swap", beforeSwap);
  on(document, "htmx:after:swap", afterSwap);
}

function answered(form, { status, headers }) {
  const told = headers.get("X-Agentsite-Seq");
  if (status >= 400 && !told && !headers.get("HX-Retarget")) tell(form, say("sayRefused", { status }));
  if (status >= 400 || !+told) return;
  renew(form);
  sessionStorage.removeItem(draftKey(form));
  const sheet = form.closest("details.action");
  if (sheet) {
    sheet.open = false;
    form.reset();
  }
  if (form.id === "composer") {
    form.elements.text.value = "";
    fit(form.elements.text);
  }
  if (!isLive) again();
  // A line may be dead without a sign of it: what was just sent must show.
  else setTimeout(() => seq < told && again(), 1500);
}

// Keys.

function startKeys() {
  const isTouch = matchMedia("(pointer: coarse)").matches;
  on(document, "keydown", (event) => {
    const box = event.target;
    const isLine = box.matches?.("#message, .ask-line textarea");
    if (event.key === "Enter" && isLine && !isTouch && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      if (box.value.trim()) box.form.requestSubmit();
    } else if (event.key === "Escape" && !event.defaultPrevented) {
      document.querySelector("#head .stop")?.focus();
    } else if (event.key === "ArrowUp" && box.id === "message" && !box.value) {
      const own = [...document.querySelectorAll(".entry-user .bubble")].pop();
      if (own) box.value = own.textContent;
    } else if (event.altKey && event.code === "KeyM") byId("message").focus();
    else if (event.altKey && event.code === "KeyL") byId("latest").focus();
    else if (event.altKey && event.code === "KeyQ") toQuestion(event.shiftKey ? -1 : 1);
  });
}

function toQuestion(step) {
  const boxes = [...document.querySelectorAll("form.ask[data-item]")];
  const now = boxes.findIndex((form) => form.contains(document.activeElement));
  const form = boxes.at((now + step) % boxes.length);
  if (form) fieldsOf(form)[0]?.focus();
}

on(document, "DOMContentLoaded", () => {
  showMoments();
  document.querySelector("[data-focus]")?.focus();
  if (!main?.dataset.socket) return;
  htmx.registerExtension("agentsite", { init: (api) => (morph = api.morph), handle_swap: place });
  restoreDrafts();
  startScrolling();
  startPosts();
  startKeys();
  startSocket();
  showTimes();
});
