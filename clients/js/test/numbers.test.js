/** Ordered attributes: what is accepted and refused, how a value becomes a level, the cuts, and the English. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { declaredValue } from "../src/attribute.js";
import { explain } from "../src/explain.js";
import { listsOf } from "../src/lists.js";
import { orderOf, sizeOf } from "../src/order.js";
import { reply, symbolOf } from "../src/question.js";
import { readSurvey } from "../src/survey.js";

const HALF = { way: "subset", symbols: 2, chosen: 1, threshold: "13835058055282163712" };
const FOURTH = { way: "subset", symbols: 4, chosen: 1, threshold: "9223372036854775808" };
const single = { attributes: 1, parities: [[0]], answer: HALF };
const double = { attributes: 1, parities: [[0], [1]], questions: [2], answer: FOURTH };

/** A survey about some attributes, each with the list that it has by default. */
const formOf = (attributes, templates = [single], change = {}) => ({
  deniable: "survey",
  format: 2,
  schema: { attributes },
  order: 1,
  epsilon: "1.2",
  mechanism: "by hand",
  lists: attributes.map(({ values, ordered }) => ({ list: values && !ordered ? "codes" : "thresholds" })),
  templates,
  ...change,
});
const read = (...told) => readSurvey(formOf(...told), "s");
const isTaken = (...told) => {
  try {
    return !!read(...told);
  } catch (error) {
    assert.equal(error.reason, "survey");
    return false;
  }
};

const grid = (low, high, step, rest) => ({ name: "n", grid: { low, high, step }, ...rest });
const at = (points, rest) => ({ name: "n", points, ...rest });
const days = (first, last, step, rest) => ({ name: "n", days: { first, last, step }, ...rest });
const words = (values, rest) => ({ name: "n", values, ordered: true, ...rest });
const AGE = grid("18.0", "100.0", "1.0", { name: "age", unit: "years" });
const plain = { name: "p", values: ["a", "b"] };

test("sound ordered attributes are accepted", () => {
  for (const attribute of [
    AGE,
    grid("0.0", "1.0", "0.1"),
    grid("-0.5", "0.5", "0.25", { missing: "none", other: "none", complete: true }),
    grid("0.0", "4095.0", "1.0"),
    grid("0.0", "1e-15", "1e-15"),
    grid("-9007199254740991.0", "9007199254740991.0", "9007199254740991.0"),
    grid("0.0", "100.0", "10.0", { edges: ["10.0", "50.0", "100.0"] }),
    grid("0.0", "100.0", "10.0", { missing: true }),
    at(["0.0", "1.0", "10.0", "100.0"], { unit: "EUR", edges: ["10.0"] }),
    at(["-1.5", "1e-15"]),
    days("2024-01-01", "2024-12-30", 7),
    days("0001-01-01", "0001-01-02", 1, { missing: "never", other: "never" }),
    words(["never", "sometimes", "often"]),
    words(["never", "often", "unknown"], { missing: "unknown", other: "unknown" }),
    words([false, true]),
    words([3, 1, 2]),
  ]) {
    assert.ok(isTaken([attribute]), JSON.stringify(attribute));
  }
});

test("unsound ordered attributes are refused", () => {
  const many = Array.from({ length: 4097 }, (_, i) => `${i}.0`);
  for (const [why, attribute] of Object.entries({
    "low is high": grid("1.0", "1.0", "1.0"),
    "low above high": grid("5.0", "1.0", "1.0"),
    "not a multiple": grid("0.0", "1.0", "0.3"),
    "high between points": grid("0.0", "10.4", "1.0"),
    "no step": grid("0.0", "1.0", "0.0"),
    "a negative step": grid("1.0", "0.0", "-1.0"),
    "a number, not its text": grid(0, 1, 1),
    "not the shortest text": grid("0", "1.0", "1.0"),
    "too many levels": grid("0.0", "4096.0", "1.0"),
    "too many decimals": grid("0.0", "1e-16", "1e-16"),
    "too many decimals of low": grid("0.1234567890123456", "1.1234567890123456", "1.0"),
    "2^53": grid("0.0", "9007199254740992.0", "9007199254740992.0"),
    "2^53 in tenths": grid("0.0", "900719925474099.2", "900719925474099.2"),
    "a huge number": grid("0.0", "1e+300", "1.0"),
    "an odd span beyond 2^53": grid("-9007199254740991.0", "9007199254740990.0", "9007199254740990.0"),
    "a field too many": { ...AGE, grid: { ...AGE.grid, count: 3 } },
    "grid and values": { ...AGE, values: ["a", "b"] },
    "grid and days": { ...AGE, ...days("2024-01-01", "2024-01-02", 1) },
    nothing: { name: "n" },
    "points that fall": at(["0.0", "2.0", "1.0"]),
    "points twice": at(["0.0", "1.0", "1.0"]),
    "one point": at(["0.0"]),
    "too many points": at(many),
    "a point of 2^53": at(["0.0", "9007199254740992.0"]),
    "a point of many decimals": at(["0.0", "0.1234567890123456"]),
    "no such day": days("2023-02-29", "2023-03-01", 1),
    "days that fall": days("2024-01-02", "2024-01-01", 1),
    "the same day": days("2024-01-01", "2024-01-01", 1),
    "days off the step": days("2024-01-01", "2024-01-09", 7),
    "too many days": days("2000-01-01", "2011-03-20", 1),
    "a step of no day": days("2024-01-01", "2024-01-02", 0),
    "a unit of days": days("2024-01-01", "2024-01-02", 1, { unit: "days" }),
    "edges of days": days("2024-01-01", "2024-01-03", 1, { edges: ["1.0"] }),
    "a unit of words": words(["a", "b"], { unit: "x" }),
    "a unit of a category": { ...plain, unit: "x" },
    "a unit that cannot be seen": { ...AGE, unit: " years" },
    "edges of words": words(["a", "b"], { edges: ["1.0"] }),
    "words that are ordered as false": { ...plain, ordered: false },
    "an order of a grid": { ...AGE, ordered: true },
    "one word and missing": words(["a", "unknown"], { missing: "unknown" }),
    "missing not last": words(["a", "unknown", "b"], { missing: "unknown" }),
    "missing not among words": words(["a", "b"], { missing: "unknown" }),
    "a word twice": words(["a", "b", "a"]),
    "words alike in print": words(["1", 1]),
    "other of words is not missing": words(["a", "b", "c"], { missing: "c", other: "a" }),
    "other of words without missing": words(["a", "b"], { other: "b" }),
    "other is not missing": { ...AGE, missing: "none", other: "else" },
    "other without missing": { ...AGE, other: "else" },
    "missing is no value": { ...AGE, missing: 1.5 },
    "missing is a point": { ...AGE, missing: 99 },
    "missing is the first point": { ...AGE, missing: 18 },
    "missing is beyond the points": { ...AGE, missing: 999 },
    "missing is a number below": { ...AGE, missing: -1 },
    "too many levels with missing": grid("0.0", "4095.0", "1.0", { missing: "none" }),
    "missing is a day": days("2024-01-01", "2024-01-02", 1, { missing: "2024-06-01" }),
    "an edge off the grid": { ...AGE, edges: ["20.5"] },
    "an edge at the first point": { ...AGE, edges: ["18.0"] },
    "an edge beyond": { ...AGE, edges: ["101.0"] },
    "edges that fall": { ...AGE, edges: ["50.0", "40.0"] },
    "an edge twice": { ...AGE, edges: ["50.0", "50.0"] },
    "an edge between points": at(["0.0", "1.0", "10.0"], { edges: ["5.0"] }),
  })) {
    assert.ok(!isTaken([attribute]), why);
  }
});

test("thresholds are the list of ordered attributes, and of no others", () => {
  const listed = (attribute, list) => isTaken([attribute], [single], { lists: [{ list }] });
  for (const list of ["codes", "bits", "balanced"]) {
    for (const one of [AGE, words(["a", "b"]), days("2024-01-01", "2024-01-02", 1), at(["0.0", "1.0"])]) assert.ok(!listed(one, list));
    assert.ok(listed(plain, list));
  }
  assert.ok(!listed(plain, "thresholds"));
  assert.ok(!listed({ name: "p", values: ["below 1", "1 or more"], edges: ["1.0"] }, "thresholds"));
});

test("cells, and answers bit by bit, are not about ordered attributes", () => {
  const two = words(["a", "b"]);
  const bits = { name: "q", values: ["a", "b"] };
  const cell = { attributes: 1, cell: true, answer: HALF };
  assert.ok(isTaken([bits], [cell]));
  assert.ok(isTaken([plain, bits], [cell]));
  for (const one of [two, grid("0.0", "1.0", "1.0")]) {
    assert.ok(!isTaken([one], [cell]));
    assert.ok(!isTaken([plain, one], [cell]));
    assert.ok(!isTaken([plain, one], [{ ...cell, sets: [[0], [1]] }]));
    assert.ok(isTaken([plain, one], [{ ...cell, sets: [[0]] }]));
    assert.ok(!isTaken([plain, one], [{ ...cell, among: [0, 1], weight: 2 ** 32 }]));
    assert.ok(isTaken([plain, one], [{ ...cell, among: [0], weight: 2 ** 32 }]));
  }
  const three = words(["a", "b", "c"]);
  const sizes = { attributes: 1, cell: true, sizes: [3], sets: [[0]], answer: { ...FOURTH, symbols: 3 } };
  assert.ok(isTaken([{ name: "n", values: ["a", "b", "c"] }], [sizes]));
  assert.ok(!isTaken([three], [sizes]));
  const bitwise = { attributes: 1, parities: [[0]], answer: { way: "bitwise", bits: 1, threshold: HALF.threshold } };
  assert.ok(isTaken([plain], [bitwise]));
  assert.ok(!isTaken([two], [bitwise]));
});

test("two questions are asked from three cuts on", () => {
  assert.ok(!isTaken([grid("0.0", "2.0", "1.0")], [double]));
  assert.ok(isTaken([grid("0.0", "3.0", "1.0")], [double]));
  const three = { ...double, questions: [3], parities: [[0], [1], [2]], answer: { ...FOURTH, symbols: 8, threshold: `${2n ** 62n}` } };
  assert.ok(!isTaken([AGE], [three]));
});

const heldBy = (attribute) => {
  const { check } = read([attribute]);
  return (value) => check({ [attribute.name]: value }).get(attribute.name);
};
const refuses = (held, ...values) => {
  for (const value of values) assert.throws(() => held(value), { reason: "record" }, `${typeof value}`);
};
const STRANGE = [Infinity, -Infinity, "41", "", true, [], {}, 41n, new Date(0), Symbol("s")];

test("a number becomes the nearest point of its grid", () => {
  const age = heldBy(AGE);
  for (const [value, point] of [
    [18, 18], [100, 100], [41.4, 41], [41.5, 42], [41.49999, 41], [17.2, 18], [-5, 18], [-1e308, 18],
    [100.5, 100], [1e308, 100], [18.5, 19], [99.5, 100], [-0, 18],
  ]) assert.equal(age(value), point, `${value}`);
  refuses(age, ...STRANGE, NaN, null, undefined);
  const tenths = heldBy(grid("-0.3", "0.3", "0.1"));
  for (const [value, point] of [[-0.3, -0.3], [-0.26, -0.3], [0, 0], [0.1, 0.1], [0.3, 0.3], [0.24, 0.2], [9, 0.3]]) {
    assert.ok(Object.is(tenths(value), point), `${value}`);
  }
  const tens = heldBy(grid("0.0", "100.0", "10.0"));
  assert.deepEqual([5, 4.999, 15, 95, 94.9].map(tens), [10, 0, 20, 100, 90]);
});

test("points of a grid are quotients of whole numbers", () => {
  const { levels, point, level } = orderOf(grid("0.0", "1.0", "0.001"));
  assert.equal(levels, 1001);
  for (let i = 0; i < levels; i++) {
    assert.equal(point(i), i / 1000);
    assert.equal(level(point(i)), i);
  }
  const wide = orderOf(grid("-9007199254740991.0", "6004799503160664.0", "3002399751580331.0"));
  assert.deepEqual([wide.levels, wide.point(0), wide.point(3), wide.point(5)], [6, -9007199254740991, 2, 6004799503160664]);
});

test("a number becomes a point by the midpoints between points", () => {
  const held = heldBy(at(["0.0", "1.0", "10.0", "100.0"]));
  assert.deepEqual([-9, 0, 0.49, 0.5, 5.49, 5.5, 54.9, 55, 1e9].map(held), [0, 0, 0, 1, 1, 10, 10, 100, 100]);
  refuses(held, ...STRANGE, NaN, null);
});

test("a day becomes the nearest day of its steps", () => {
  const held = heldBy(days("2024-01-01", "2024-01-29", 7));
  for (const [value, point] of [
    ["2024-01-01", "2024-01-01"], ["2024-01-04", "2024-01-01"], ["2024-01-05", "2024-01-08"], ["2023-06-01", "2024-01-01"],
    ["0001-01-01", "2024-01-01"], ["9999-12-31", "2024-01-29"], ["2024-01-25", "2024-01-22"], ["2024-01-26", "2024-01-29"],
  ]) assert.equal(held(value), point, value);
  const even = heldBy(days("2024-02-27", "2024-03-02", 2));
  assert.deepEqual(["2024-02-28", "2024-02-29", "2024-03-01"].map(even), ["2024-02-29", "2024-02-29", "2024-03-02"]);
  refuses(
    held, "2023-02-29", "2024-02-30", "2024-1-1", "2024-01-01T00:00:00Z", "0000-01-01", "12024-01-01", "+002024-01-01", "today",
    20240101, NaN, null, undefined, ...STRANGE,
  );
});

test("ordered words are taken by equality", () => {
  const held = heldBy(words(["never", "often", "unknown"], { missing: "unknown" }));
  assert.deepEqual(["never", "often", "unknown", null, undefined, NaN].map(held), ["never", "often", ...Array(4).fill("unknown")]);
  refuses(held, "Often", 1, true);
  assert.equal(heldBy(words(["a", "b", "c"], { missing: "c", other: "c" }))("x"), "c");
});

test("missing and other stand for what is absent and for what is no number", () => {
  const missing = { missing: "none" };
  const both = { missing: false, other: false };
  for (const one of [AGE, at(["0.0", "1.0"], { name: "age" }), days("2024-01-01", "2024-01-02", 1)]) {
    const held = heldBy({ ...one, ...missing });
    assert.deepEqual([NaN, null, undefined].map(held), ["none", "none", "none"]);
    refuses(held, ...STRANGE, "none");
    const all = heldBy({ ...one, ...both });
    for (const value of [NaN, null, undefined, "none", "2023-02-29", ...STRANGE]) assert.equal(all(value), false);
  }
});

const SIZES = [2, 3, 4, 5, 8, 100];
const scale = (levels, rest) => grid("0.0", `${levels - 1}.0`, "1.0", rest);

test("cuts are as specified, with and without missing", () => {
  for (const levels of SIZES) {
    for (const missing of [undefined, "none"]) {
      const attribute = scale(levels, missing && { missing });
      const [list] = listsOf(formOf([attribute]));
      const most = levels - 1;
      const entries = missing ? 2 * most : most;
      assert.equal(sizeOf(attribute), levels + !!missing);
      assert.deepEqual([list.entries, list.count, list.depth], [entries, entries, levels > 3 ? 2 : 1]);
      const pattern = (coefficient) => Array.from({ length: levels + !!missing }, (_, value) => !!list.saysYes(coefficient, value));
      const passed = (isYes, isMissing) => [...Array.from({ length: levels }, (_, level) => isYes(level)), ...(missing ? [isMissing] : [])];
      for (let entry = 0; entry < entries; entry++) {
        const [offset, isMissing] = [entry % most, entry >= most];
        assert.equal(list.coefficient(entry, 1, 0), 0);
        assert.equal(list.coefficient(entry, 1, 1), entry + 1);
        assert.deepEqual(pattern(entry + 1), passed((level) => level >= offset + 1, isMissing));
        if (most < 3) continue;
        const [low, middle, high] = [0, 1, 2].map((j) => 1 + ((offset + Math.floor((j * most) / 3)) % most)).sort((a, b) => a - b);
        assert.ok(low < middle && middle < high);
        const parts = [0, 1, 2, 3].map((part) => list.coefficient(entry, 2, part));
        assert.deepEqual(parts, [0, middle + (isMissing ? most : 0), entries + entry + 1, 2 * entries + entry + 1]);
        assert.deepEqual(pattern(parts[1]), passed((level) => level >= middle, isMissing));
        assert.deepEqual(pattern(parts[2]), passed((level) => level >= low && level < high, false));
      }
    }
  }
});

test("the terms of a question hold for just the levels that the list says", () => {
  const templates = [single, double];
  for (const levels of SIZES.slice(2)) {
    for (const attribute of [
      scale(levels), scale(levels, { missing: "none" }), scale(levels, { missing: true }),
      at(Array.from({ length: levels }, (_, i) => `${i * i}.0`), { missing: "none" }),
      days("2024-01-01", new Date(Date.UTC(2024, 0, levels)).toJSON().slice(0, 10), 1, { missing: "zero" }),
      words([...Array.from({ length: levels }, (_, i) => `w${i}`), "none"], { missing: "none" }),
    ]) {
      const own = read([attribute], templates);
      const [list] = listsOf(formOf([attribute]));
      const { levels: all, point } = orderOf(attribute);
      const declared = Array.from({ length: all }, (_, i) => (attribute.values ? attribute.values[i] : point(i)));
      if (attribute.missing !== undefined) declared.push(attribute.missing);
      for (let slot = 0; slot < 2 * list.entries; slot++) {
        const { asks } = own.question(slot);
        const entry = slot % list.entries;
        const parts = slot < list.entries ? [list.coefficient(entry, 1, 1)] : [1, 3].map((part) => list.coefficient(entry, 2, part));
        declared.forEach((value, code) => {
          const expected = parts.reduce((sum, part, bit) => sum + (list.saysYes(part, code) ? 1 << bit : 0), 0);
          assert.equal(Number(symbolOf(asks, new Map([["n", value]]))), expected);
        });
      }
      assert.equal(own.question(2 * list.entries), undefined);
    }
  }
});

test("two questions about an order are asked alone and in full", () => {
  const pair = { attributes: 2, parities: [[0], [1]], questions: [2, 1], answer: FOURTH };
  const four = (name) => ({ ...scale(5), name });
  for (const [template, attributes] of [
    [{ ...double, parities: [[0], [0, 1]] }, [four("a")]],
    [{ ...double, parities: [[0, 1]], answer: HALF }, [four("a")]],
    [pair, [four("a"), four("b")]],
  ]) assert.throws(() => read(attributes, [template]), { name: "Refused" });
  assert.ok(read([four("a")], [double]));
});

test("questions have the terms that are specified", () => {
  const asked = (attribute, templates, slot) => read([attribute], templates).question(slot).asks.parities;
  const income = grid("0.0", "60000.0", "1000.0", { name: "income", unit: "EUR", missing: "unknown" });
  const name = { attribute: "income", unit: "EUR" };
  assert.deepEqual(asked(income, [single], 41), [[{ ...name, above: 41000 }]]);
  assert.deepEqual(asked(income, [single], 101), [[{ ...name, above: 41000, or: "unknown" }]]);
  assert.deepEqual(asked(income, [double], 0), [[{ ...name, above: 20000 }], [{ ...name, above: 0, to: 40000 }]]);
  assert.deepEqual(asked(income, [double], 85), [
    [{ ...name, above: 25000, or: "unknown" }],
    [{ ...name, above: 5000, to: 45000 }],
  ]);
  assert.deepEqual(asked(grid("0.0", "1.0", "0.1"), [single], 3), [[{ attribute: "n", above: 0.3 }]]);
  const week = days("2024-01-01", "2024-01-29", 7);
  assert.deepEqual(asked(week, [double], 0), [
    [{ attribute: "n", above: "2024-01-08" }],
    [{ attribute: "n", above: "2024-01-01", to: "2024-01-15" }],
  ]);
  const often = words(["never", "rarely", "sometimes", "often", "?"], { missing: "?" });
  assert.deepEqual(asked(often, [single], 1), [[{ attribute: "n", values: ["sometimes", "often"] }]]);
  assert.deepEqual(asked(often, [single], 4), [[{ attribute: "n", values: ["sometimes", "often", "?"] }]]);
  assert.deepEqual(asked(often, [double], 3), [
    [{ attribute: "n", values: ["sometimes", "often", "?"] }],
    [{ attribute: "n", values: ["rarely", "sometimes"] }],
  ]);
});

test("a question is the survey's own to the letter, and is answered", () => {
  const { question, verify, check, draw } = read([AGE, plain], [{ attributes: 2, parities: [[0, 1]], answer: HALF }], { order: 2 });
  const own = question(draw(() => 7n));
  verify(JSON.parse(JSON.stringify(own)), 2);
  const changed = structuredClone(own);
  changed.asks.parities[0][0].above += 1;
  assert.throws(() => verify(changed, 2), { reason: "question" });
  assert.match(reply(own, check({ age: 41.2, p: "a" })).value, /^[01]$/);
});

const said = (...bits) => explain({ asks: { parities: bits }, answer: bits[1] ? { ...FOURTH, symbols: 2 ** bits.length } : HALF }).text;
const OPPOSITE = "Your device reports the opposite with probability 1/4.";
const OTHERS = "Your device reports the true answer with probability 1/2, otherwise one of the other 3 at random.";
const WITHIN = "Is your answer within this?";

test("ranges are said in plain English", () => {
  const income = { attribute: "income", unit: "EUR" };
  for (const [term, text] of [
    [{ attribute: "age", above: 41 }, "age – above 41"],
    [{ attribute: "age", above: 20, to: 62 }, "age – above 20 and up to 62"],
    [{ ...income, above: 41000 }, "income – above 41,000\u00a0EUR"],
    [{ ...income, above: 41000, or: "unknown" }, "income – above 41,000\u00a0EUR, or “unknown”"],
    [{ ...income, above: 20000, to: 60000 }, "income – above 20,000 and up to 60,000\u00a0EUR"],
    [{ attribute: "a, b", above: -0.125, or: "x?" }, "a, b – above -0.125, or “x?”"],
    [{ attribute: "t", above: -1234.5, to: 1e-15 }, "t – above -1,234.5 and up to 0.000000000000001"],
    [{ attribute: "t", above: 0, or: 0 }, "t – above 0, or “no answer (0)”"],
    [{ attribute: "born", above: "1984-05-01", to: "2001-12-31" }, "born – after 1 May 1984 and up to 31 December 2001"],
  ]) assert.equal(said([term]), `${WITHIN}\n• ${text}\n${OPPOSITE}`);
});

test("facts about ranges stand beside others", () => {
  const income = { attribute: "income", above: 20000, to: 60000, unit: "EUR" };
  const smoker = { attribute: "smoker", values: [true] };
  const [earns, smokes] = ["• income – above 20,000 and up to 60,000\u00a0EUR", "• smoker – yes"];
  const pair = "Is exactly one of these two true for you?";
  assert.equal(said([income, smoker]), [pair, earns, smokes, OPPOSITE].join("\n"));
  assert.equal(
    said([income], [{ attribute: "age", above: 41, or: "none" }]),
    ["For each of these 2: is it true for you, yes or no?", earns, "• age – above 41, or “none”", OTHERS].join("\n"),
  );
  assert.equal(
    said([income, smoker], [{ attribute: "age", above: 41 }]),
    ["2 questions at once:", `1. ${pair}`, `   ${earns}`, `   ${smokes}`, `2. ${WITHIN}`, "   • age – above 41", OTHERS].join("\n"),
  );
  assert.deepEqual(explain({ asks: { parities: [[income]] }, answer: HALF }, { value: "1" }).reported, ["yes"]);
});

test("numbers have the fewest decimals that are exact", () => {
  const fewest = (x) => {
    let d = 0;
    while (+x.toFixed(d) !== x) d++;
    const [whole, ...rest] = x.toFixed(d).split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  };
  for (let i = 0; i < 20000; i++) {
    const d = i % 16;
    const whole = Math.floor((Math.random() - 0.5) * 2 ** (1 + (i % 53)));
    const x = whole / +`1e${d}`;
    if (Object.is(x, -0)) continue;
    assert.equal(said([{ attribute: "a", above: x }]), `${WITHIN}\n• a – above ${fewest(x)}\n${OPPOSITE}`);
  }
});

test("a number is taken or refused beyond its ends", () => {
  const path = new URL("../../../tests/vectors/strict.json", import.meta.url);
  for (const { attribute, taken, refused } of JSON.parse(readFileSync(path, "utf8"))) {
    assert.ok(isTaken([attribute]));
    for (const [value, declared] of taken) assert.deepEqual(declaredValue(attribute, value), declared);
    for (const value of refused) {
      assert.throws(() => declaredValue(attribute, value), { reason: "record" });
    }
  }
  for (const attribute of [words(["a", "b"], { strict: true }), { ...plain, strict: true }, { ...AGE, strict: false }])
    assert.equal(isTaken([attribute]), false);
});
