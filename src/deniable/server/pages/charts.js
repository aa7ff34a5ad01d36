/** Charts as SVG, drawn by hand: light, themed by the style sheet, each with its numbers as a table beside it. */

import { draw, make, parseSvg } from "./dom.js";

export const withCommas = (number) => number.toLocaleString("en");

/** A share in percentage points, with as many digits as it bears. */
export const points = (share) => {
  const value = 100 * share;
  return value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2);
};

/** A table of texts; columns that are numbers stand to the right. */
export const listing = (caption, heads, rows, numbers = []) =>
  make(
    "table",
    { class: "list" },
    make("caption", { class: "hidden" }, caption),
    make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", { scope: "col", class: numbers.includes(i) ? "number" : undefined }, head)))),
    make(
      "tbody",
      {},
      rows.map((row) =>
        make("tr", {}, row.map((cell, i) =>
          make(i ? "td" : "th", { scope: i ? undefined : "row", class: numbers.includes(i) ? "number" : undefined }, cell))),
      ),
    ),
  );

// Error bars against people

/** Round numbers between two, finer ones where there are few. */
const rounds = (low, high, steps = [1, 2, 5]) => {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) ticks.push(step * 10 ** power);
  }
  const within = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  return within.length < 3 && steps.length < 4 ? rounds(low, high, [1, 1.5, 2, 3, 4, 6, 8]) : within;
};
/** Some of the ticks, so that at most so many are left. */
const thin = (ticks, most) => {
  const powers = ticks.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
  const some = ticks.length <= most || powers.length < 2 ? ticks : powers;
  const step = Math.ceil(some.length / most);
  return some.filter((_, i) => i % step === 0);
};

const short = (people) => (people >= 1e6 ? `${people / 1e6}M` : people >= 1e3 ? `${people / 1e3}k` : `${people}`);

/** How half-widths shrank, on logarithmic scales, and how they go on if they shrink as expected. */
export const errorChart = (rows, width) => {
  const height = 260;
  const [left, right, top, bottom] = [54, 16, 30, 40];
  const last = rows.at(-1);
  const expectedWidth = (people) => last.half_width * Math.sqrt(last.people / people);
  const first = Math.min(rows[0].people, last.people / 4);
  const end = last.people * 4;
  const high = Math.max(expectedWidth(first), ...rows.map((row) => row.half_width)) * 1.15;
  const low = Math.min(expectedWidth(end), ...rows.map((row) => row.half_width)) / 1.15;
  const scale = (value, from, to, a, b) => a + ((Math.log(value) - Math.log(from)) / (Math.log(to) - Math.log(from))) * (b - a);
  const x = (people) => scale(people, first, end, left, width - right);
  const y = (share) => scale(share, low, high, height - bottom, top);
  const svg = draw("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "errors-title" });
  svg.append(
    draw("title", { id: "errors-title" },
      `Mean half-width of intervals, from ± ${points(rows[0].half_width)} points at ${withCommas(rows[0].people)} people to ± ${points(last.half_width)} at ${withCommas(last.people)}.`),
  );
  for (const tick of thin(rounds(low * 100, high * 100), 6)) {
    const level = y(tick / 100);
    svg.append(
      draw("line", { class: "grid", x1: left, x2: width - right, y1: level, y2: level }),
      draw("text", { x: left - 8, y: level + 4, "text-anchor": "end" }, `± ${Number(tick.toPrecision(3))}`),
    );
  }
  for (const tick of thin(rounds(first, end), Math.max(3, Math.floor(width / 80)))) {
    svg.append(
      draw("line", { class: "axis", x1: x(tick), x2: x(tick), y1: height - bottom, y2: height - bottom + 5 }),
      draw("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, short(tick)),
    );
  }
  const path = (list) => list.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  svg.append(
    draw("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    draw("text", { x: width - right, y: height - 6, "text-anchor": "end" }, "people"),
    draw("text", { x: 2, y: 13 }, "± percentage points"),
    draw("path", { class: "expected", d: path([[first, expectedWidth(first)], [end, expectedWidth(end)]]) }),
    draw("path", { class: "measured", d: path(rows.map((row) => [row.people, row.half_width])) }),
  );
  for (const { people, half_width: share } of rows) {
    svg.append(
      draw("circle", {
        class: "dot", cx: x(people), cy: y(share), r: 5,
        "data-tip": `${withCommas(people)} people\n± ${points(share)} points, measured\n± ${points(expectedWidth(people))} points, expected`,
      }),
    );
  }
  svg.append(
    draw("text", { class: "now", x: Math.min(x(last.people), width - 70), y: y(last.half_width) - 12, "text-anchor": "middle" },
      `± ${points(last.half_width)}`),
  );
  return svg;
};

// The tree

/** The tree as the collector drew it: wide if the widest room allows it, else narrow. */
export const treeChart = ({ wide, narrow }, rooms) => {
  const across = parseSvg(wide);
  return withTips(across.getAttribute("width") <= Math.max(...rooms) ? across : parseSvg(narrow));
};

/** A drawing whose parts say what they are when they are pointed at, as all else on the page does. */
const withTips = (svg) => {
  for (const title of svg.querySelectorAll("g > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  return svg;
};
export const drawing = (text) => withTips(parseSvg(text));

/** A small probability in few digits. */
export const pText = (p) => (p === null || p === undefined ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(p < 0.1 ? 3 : 2));

// Tips

/** Whatever carries a `data-tip` shows it while it is pointed at or has the focus. */
export const tips = (tip) => {
  let target;
  const moveTip = (x, below, above) => {
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x - width / 2, innerWidth - width - 4))}px`;
    tip.style.top = `${below + 10 + height > innerHeight ? Math.max(4, above - height - 10) : below + 10}px`;
  };
  const beside = () => {
    const { left, width, top, bottom } = target.getBoundingClientRect();
    moveTip(left + width / 2, bottom, top);
  };
  const show = (event) => {
    target = event.target.closest?.("[data-tip]");
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.dataset.tip;
    if (target.ownerSVGElement) moveTip(event.clientX, event.clientY, event.clientY);
    else beside();
  };
  const onScroll = () => {
    if (target && target === document.activeElement) beside();
    else tip.hidden = true;
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", () => (tip.hidden = true));
  document.addEventListener("keydown", (event) => event.key === "Escape" && (tip.hidden = true));
  document.addEventListener("scroll", onScroll, { capture: true, passive: true });
};
