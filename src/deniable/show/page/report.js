"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("table");
  const selects = [...document.querySelectorAll("[data-attribute]")];
  const sorted = document.getElementById("sorted");
  const unbiased = document.getElementById("unbiased");
  const MOST = 24;
  let touched = false;
  const make = (tag, text, kind) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };
  const percent = (share, digits) => {
    const text = (share / 1000).toFixed(digits);
    return Number(text) ? text.replace("-", "−") : text.replace("-", "");
  };

  // The cells of the chosen attributes, in the chosen order; they are stored in the schema's order.
  const cellsOf = (chosen, stored) => {
    const inner = [...chosen].sort((a, b) => a - b);
    const stride = new Map();
    inner.reduceRight((step, at) => (stride.set(at, step), step * data.values[at].length), 1);
    const rows = [];
    const walk = (held, at) => {
      if (held.length === chosen.length) {
        rows.push({ held, estimate: stored[0][at], low: stored[1]?.[at], high: stored[2]?.[at] });
        return;
      }
      const next = chosen[held.length];
      data.values[next].forEach((value, code) => walk([...held, value], at + code * stride.get(next)));
    };
    walk([], 0);
    return rows;
  };

  const draw = (row, least, most) => {
    const cell = make("td", undefined, "drawn");
    const reach = make("div", undefined, "reach");
    reach.setAttribute("aria-hidden", "true");
    const at = (share) => (100 * (share - least)) / (most - least || 1);
    if (row.low !== undefined) {
      const line = make("i");
      line.style.left = at(row.low) + "%";
      line.style.width = at(row.high) - at(row.low) + "%";
      reach.append(line);
    }
    if (least < 0) {
      const zero = make("u");
      zero.style.left = at(0) + "%";
      reach.append(zero);
    }
    const dot = make("b");
    dot.style.left = at(row.estimate) + "%";
    reach.append(dot);
    cell.append(reach);
    return cell;
  };

  // Two numbers: their bins against each other, the second one upwards; what may be 0 is dashed.
  const heat = (chosen, rows, names, digits) => {
    const [across, up] = chosen.map((at) => data.values[at]);
    const top = rows.reduce((most, row) => Math.max(most, row.estimate), 1);
    const table = make("table", undefined, "heat");
    table.append(make("caption", `${names[0]} × ${names[1]}: share of people, %. Dashed: the interval holds 0.`));
    const body = make("tbody");
    up.map((value, j) => [value, j]).reverse().forEach(([value, j]) => {
      const line = make("tr");
      const head = make("th", value);
      head.scope = "row";
      line.append(head);
      across.forEach((_, i) => {
        const { estimate, low, high } = rows[i * up.length + j];
        const isFaint = !(low > 0 || (low === undefined && estimate > 0));
        const shade = Math.min(5, Math.floor(6 * Math.sqrt(Math.max(0, estimate) / top)));
        const cell = make("td", percent(estimate, digits), isFaint ? `faint s${Math.min(2, shade)}` : `s${shade}`);
        const ends = low === undefined ? "" : `, ${percent(low, digits)} to ${percent(high, digits)}`;
        cell.title = `${names[0]} ${across[i]}, ${names[1]} ${value}: ${percent(estimate, digits)} %${ends}`;
        line.append(cell);
      });
      body.append(line);
    });
    const foot = make("tr");
    foot.append(make("th", `${names[1]} ↑  ${names[0]} →`, "axis"));
    for (const value of across) foot.append(make("th", value));
    [...foot.children].slice(1).forEach((one) => (one.scope = "col"));
    const bottom = make("tfoot");
    bottom.append(foot);
    table.append(body, bottom);
    return table;
  };

  const scrolled = (table, label) => {
    const scroll = make("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", label);
    scroll.append(table);
    return scroll;
  };

  const show = (all) => {
    const chosen = [...new Set(selects.map((one) => one.value).filter((value) => value !== "").map(Number))];
    place.replaceChildren();
    if (!chosen.length) return place.append(make("p", "Choose an attribute.", "soft"));
    const names = chosen.map((at) => data.names[at]);
    const key = [...chosen].sort((a, b) => a - b).join(" ");
    const { tables, swamped } = unbiased?.checked ? data.unbiased : data;
    const stored = tables[key];
    if (stored === 0) return place.append(make("p", "Not known: these attributes were never asked about together."));
    if (!stored) return place.append(make("p", "This table is not in this file, which would be too large: export it."));
    let rows = cellsOf(chosen, stored);
    const ends = rows.flatMap((row) => [row.estimate, row.low ?? 0, row.high ?? 0]);
    const least = ends.reduce((a, b) => Math.min(a, b), 0);
    const most = ends.reduce((a, b) => Math.max(a, b), 0);
    const isHeat = chosen.length === 2 && chosen.every((at) => data.numbers.includes(at));
    if (!touched) sorted.checked = rows.length > MOST;
    const inOrder = [...rows];
    if (sorted.checked) rows = rows.sort((a, b) => b.estimate - a.estimate);
    // As many digits as the intervals bear.
    const widths = rows.map((row) => (row.high ?? 0) - (row.low ?? 0)).sort((a, b) => a - b);
    const digits = widths[widths.length >> 1] > 1000 ? 1 : 2;
    const map = isHeat && heat(chosen, inOrder, names, digits);
    const shown = all ? rows : rows.slice(0, MOST);
    const table = make("table", undefined, swamped[key] ? "list swamped" : "list");
    table.append(make("caption", names.join(" × ") + (unbiased?.checked ? ", unbiased estimates" : "")));
    if (swamped[key]) place.append(make("p", swamped[key], "warning"));
    const head = make("tr");
    const hasEnds = stored.length > 1;
    for (const name of names) head.append(make("th", name));
    head.append(make("th", "share, %", "number"));
    if (hasEnds) head.append(make("th", "95 % interval", "number interval"));
    head.append(make("th", "", "drawn"));
    for (const one of head.children) one.scope = "col";
    head.lastChild.append(make("span", "drawn", "hidden"));
    const top = make("thead");
    top.append(head);
    const body = make("tbody");
    for (const row of shown) {
      const line = make("tr");
      for (const value of row.held) {
        const cell = make("th", value);
        cell.scope = "row";
        line.append(cell);
      }
      line.append(make("td", percent(row.estimate, digits), "number"));
      if (hasEnds) line.append(make("td", `${percent(row.low, digits)} to ${percent(row.high, digits)}`, "number interval"));
      line.append(draw(row, least, most));
      body.append(line);
    }
    table.append(top, body);
    let list = place;
    if (isHeat) {
      list = make("details");
      list.open = all;
      list.append(make("summary", "The same as a list, with intervals"));
      place.append(scrolled(map, "Heat map of " + names.join(" and ")), list);
    }
    list.append(scrolled(table, "Table of " + names.join(" and ")));
    if (shown.length < rows.length) {
      const more = make("button", `Show all ${rows.length.toLocaleString("en")} cells`);
      more.type = "button";
      more.addEventListener("click", () => show(true));
      list.append(more);
    }
  };

  sorted.addEventListener("input", () => (touched = true));
  for (const one of [...selects, sorted, ...(unbiased ? [unbiased] : [])]) one.addEventListener("change", () => show(false));
  show(false);
})();
