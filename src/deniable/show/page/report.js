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
  // A short name, which opens what was asked where its card says that.
  const named = (at, text = data.names[at]) => {
    if (!document.getElementById("word-" + at)) return text;
    const button = make("button", text, "word");
    button.type = "button";
    button.setAttribute("popovertarget", "word-" + at);
    return button;
  };
  // A value's label, which says in which language it is.
  const labelled = (at, code) => {
    const text = data.values[at][code], language = data.languages?.[at][code];
    const node = make("span", text, text.length > 24 ? "value" : "brief");
    if (text.split(/[\s-]/).some((word) => word.length > 12)) node.className += " long";
    if (language) Object.assign(node, { lang: language, dir: data.directions[language] });
    return node;
  };
  const percent = (share, digits) => {
    const text = (share / 1000).toFixed(digits);
    return Number(text) ? text.replace("-", "−") : text.replace("-", "");
  };

  // Whole numbers of a few bytes, the low byte first, in base64.
  const unpack = (text, size) => {
    const bytes = atob(text), spare = 32 - 8 * size;
    return Int32Array.from({ length: bytes.length / size }, (_, at) => {
      let number = 0;
      for (let part = size; part--; ) number = (number << 8) | bytes.charCodeAt(at * size + part);
      return (number << spare) >> spare;
    });
  };

  // Tables of fewer attributes come first, and those of the same number by their last ones.
  const keysOf = (count) => {
    const keys = [];
    const walk = (rest, left, below) => {
      if (!left) return void keys.push(rest);
      for (let at = left - 1; at < below && keys.length < count; at++) walk([at, ...rest], left - 1, at);
    };
    for (let size = 1; keys.length < count; size++) walk([], size, data.names.length);
    return keys;
  };

  const read = (form) => {
    const cells = unpack(form.cells, 3), tables = new Map();
    const warnings = new Map(form.swamped.flatMap(([words, rows]) => rows.map((row) => [row, words])));
    const bits = atob(form.doubtful);
    let start = 0, first = 0;
    keysOf(form.kinds.length).forEach((key, row) => {
      const size = key.reduce((count, at) => count * data.values[at].length, 1);
      const parts = Array.from({ length: form.kinds[row] }, () => cells.subarray(start, (start += size)));
      const own = first;
      first += size;
      const isDoubtful = (at) => ((bits.charCodeAt((own + at) >> 3) >> ((own + at) & 7)) & 1) === 1;
      tables.set(key.join(" "), { parts, isDoubtful, warning: warnings.get(row) });
    });
    return { tables, scale: 100000 / form.unit };
  };
  const own = read(data);
  let before;

  // The cells of the chosen attributes, in the chosen order; they are stored in the schema's order.
  const cellsOf = (chosen, stored, scale, isDoubtful) => {
    const inner = [...chosen].sort((a, b) => a - b);
    const stride = new Map();
    inner.reduceRight((step, at) => (stride.set(at, step), step * data.values[at].length), 1);
    const rows = [];
    const walk = (held, at) => {
      if (held.length === chosen.length) {
        const [estimate, low, high] = stored.map((part) => part[at] * scale);
        rows.push({ held, estimate, low, high, isFaint: isDoubtful(at) });
        return;
      }
      const next = chosen[held.length];
      data.values[next].forEach((value, code) => walk([...held, code], at + code * stride.get(next)));
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
    table.append(make("caption", `${names[0]} × ${names[1]}: share of people, %. Dashed: may be noise.`));
    const body = make("tbody");
    up.map((value, j) => [value, j]).reverse().forEach(([value, j]) => {
      const line = make("tr");
      const head = make("th", value);
      head.scope = "row";
      line.append(head);
      across.forEach((_, i) => {
        const { estimate, low, high, isFaint } = rows[i * up.length + j];
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

  // Shares within each value of an attribute, crossed: the last attribute's values are the columns.
  const crossed = (chosen, rows, within, names) => {
    const place = chosen.indexOf(within), last = chosen.at(-1);
    const wholes = data.values[within].map(() => 0);
    for (const { held, estimate } of rows) wholes[held[place]] += estimate;
    const table = make("table", undefined, "list cross"), head = make("tr"), body = make("tbody"), top = make("thead");
    table.append(make("caption", `${names.join(" × ")}: percent of the people within each value of ${data.names[within]}. Dashed: may be noise.`));
    const above = make("tr"), over = make("th");
    over.colSpan = data.values[last].length;
    over.scope = "colgroup";
    over.append(named(last));
    above.append(...chosen.slice(0, -1).map(() => make("td")), over);
    for (const at of chosen.slice(0, -1)) {
      const one = make("th");
      one.append(named(at));
      head.append(one);
    }
    data.values[last].forEach((_, code) => {
      const one = make("th", undefined, "number");
      one.append(labelled(last, code));
      head.append(one);
    });
    for (const one of head.children) one.scope = "col";
    const columns = data.values[last].length;
    for (let from = 0; from < rows.length; from += columns) {
      const line = make("tr");
      chosen.slice(0, -1).forEach((at, column) => {
        const code = rows[from].held[column], one = make("th");
        one.scope = "row";
        one.append(labelled(at, code));
        line.append(one);
      });
      for (const { held, estimate, isFaint } of rows.slice(from, from + columns)) {
        const whole = wholes[held[place]];
        line.append(make("td", whole > 0 ? percent((100000 * estimate) / whole, 1) : "–", isFaint ? "number faint" : "number"));
      }
      body.append(line);
    }
    top.append(above, head);
    table.append(top, body);
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
    const { tables, scale } = unbiased?.checked ? (before ??= read(data.unbiased)) : own;
    const { parts: stored, warning, isDoubtful } = tables.get(key) ?? {};
    const share = offered(chosen);
    if (stored?.length === 0) return place.append(make("p", warning));
    if (!stored) return place.append(make("p", "This table is not in this file, which would be too large: export it."));
    let rows = cellsOf(chosen, stored, scale, isDoubtful);
    if (share !== undefined) {
      if (warning) place.append(make("p", warning, "warning"));
      const table = crossed(chosen, rows, share, names);
      if (warning) table.classList.add("swamped");
      return place.append(scrolled(table, "Percentages of " + names.join(" and ")),
        make("p", "Percentages of a part have no intervals here; release.conditional in Python has them.", "small soft"));
    }
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
    const table = make("table", undefined, warning ? "list swamped" : "list");
    table.append(make("caption", names.join(" × ") + (unbiased?.checked ? ", unbiased estimates" : "")));
    if (warning) place.append(make("p", warning, "warning"));
    const head = make("tr");
    const hasEnds = stored.length > 1;
    for (const at of chosen) {
      const one = make("th");
      one.append(named(at));
      head.append(one);
    }
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
      row.held.forEach((code, column) => {
        const cell = make("th");
        cell.scope = "row";
        cell.append(labelled(chosen[column], code));
        line.append(cell);
      });
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

  // What percentages are of: everybody, or each value of an attribute of the table.
  const within = document.querySelector("#within select");
  const offered = (chosen) => {
    if (!within) return undefined;
    const kept = chosen.length > 1 && chosen.includes(Number(within.value)) && within.value !== "" ? within.value : "";
    within.replaceChildren(new Option("of everybody", ""), ...chosen.map((at) => new Option(`within each ${data.names[at]}`, at)));
    within.value = kept;
    within.parentNode.hidden = chosen.length < 2;
    sorted.disabled = kept !== "";
    return kept === "" ? undefined : Number(kept);
  };

  sorted.addEventListener("input", () => (touched = true));
  for (const one of [...selects, sorted, ...(within ? [within] : []), ...(unbiased ? [unbiased] : [])]) one.addEventListener("change", () => show(false));
  show(false);

  // All pairs, the surest first: a list to search and to sort, and a matrix to look through.
  if (!data.pairs) return;
  const { count, together } = data.pairs;
  const shades = unpack(data.pairs.shade, 1);
  const [a, b, v, low, high, q] = ["a", "b", "v", "low", "high", "q"].map((name) => unpack(data.pairs[name], 2));
  const both = (row) => [data.names[a[row]], data.names[b[row]]];
  const four = (number, digits = 3) => (number < 0 ? "–" : (number / 10000).toFixed(digits));
  const interval = (row) => (low[row] < 0 ? "–" : `${four(low[row])} to ${four(high[row])}`);
  const sureness = (row) => (q[row] < 0 ? "–" : q[row] ? String(Number((q[row] / 10000).toPrecision(2))) : "< 0.0001");

  const open = (...chosen) => {
    selects.forEach((one, at) => (one.value = chosen[at] ?? ""));
    show(false);
    document.getElementById("tables").scrollIntoView({ behavior: "instant" });
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };

  const list = document.getElementById("list");
  if (list) {
    const find = document.getElementById("find"), more = document.getElementById("more");
    const every = [...v.keys()];
    const orders = {
      q: (one, other) => one - other,
      v: (one, other) => v[other] - v[one] || one - other,
    };
    const byName = new Intl.Collator("en", { numeric: true });
    const places = [...data.names.keys()].sort((one, other) => byName.compare(data.names[one], data.names[other]));
    const rank = places.reduce((ranks, at, number) => ((ranks[at] = number), ranks), []);
    const first = (row) => Math.min(rank[a[row]], rank[b[row]]), last = (row) => Math.max(rank[a[row]], rank[b[row]]);
    orders.name = (one, other) => first(one) - first(other) || last(one) - last(other);
    const spoken = data.names.map((name) => name.toLowerCase());
    const asked = data.names.map((_, at) => (data.wordings?.[at] ?? "").toLowerCase());
    let sort = "q", turned = 1, most = 10, rows = every;

    const fill = () => {
      const lines = rows.slice(0, most).map((row) => {
        const line = make("tr"), head = make("th"), button = make("button", both(row).join(" × "), "link");
        head.scope = "row";
        button.type = "button";
        button.addEventListener("click", () => open(a[row], b[row]));
        head.append(button);
        line.append(head, make("td", four(v[row]), "number"), make("td", interval(row), "number interval narrow"), make("td", sureness(row), "number"));
        return line;
      });
      list.tBodies[0].replaceChildren(...lines);
      more.hidden = rows.length <= most;
      more.textContent = `Show ${Math.min(100, rows.length - most)} more`;
      const all = count.toLocaleString("en");
      const listed = every.length < count ? `; the list has the ${every.length.toLocaleString("en")} surest` : "";
      document.getElementById("matches").textContent = rows.length
        ? `${rows.length.toLocaleString("en")} of ${all} pairs${listed}. Choose one to see its table.`
        : `None of ${all} pairs has these names${listed}.`;
    };

    // Each word must be in a name of the pair; whole names, and whole words of names, come first.
    const look = () => {
      const words = find.value.toLowerCase().split(/[\s×,]+/).filter(Boolean);
      const fits = words.map((word) => spoken.map((name, at) =>
        name === word ? 3 : name.split(/[\s_]+/).includes(word) ? 2 : name.includes(word) || asked[at].includes(word) ? 1 : 0));
      const score = new Map();
      for (const row of every) {
        const each = fits.map((fit) => Math.max(fit[a[row]], fit[b[row]]));
        if (each.every(Boolean)) score.set(row, each.reduce((sum, fit) => sum + fit, 0));
      }
      rows = [...score.keys()].sort((one, other) => score.get(other) - score.get(one) || turned * orders[sort](one, other));
      most = 10;
      fill();
    };

    for (const button of list.querySelectorAll("[data-sort]")) button.addEventListener("click", () => {
      turned = sort === button.dataset.sort ? -turned : 1;
      sort = button.dataset.sort;
      list.querySelectorAll("[aria-sort]").forEach((head) => head.removeAttribute("aria-sort"));
      button.parentNode.setAttribute("aria-sort", (turned > 0) === (sort !== "v") ? "ascending" : "descending");
      look();
    });
    find.addEventListener("input", look);
    more.addEventListener("click", () => {
      most += 100;
      fill();
    });
    look();
  }

  const matrix = document.getElementById("matrix");
  matrix.addEventListener("click", ({ target }) => {
    const cell = target.closest("td");
    if (!cell?.textContent) return;
    const column = matrix.rows[matrix.rows.length - 1].cells[cell.cellIndex];
    open(...[cell.parentNode.cells[0], column].map((head) => data.names.indexOf(head.title)).sort((one, other) => one - other));
  });

  const browse = document.getElementById("browse");
  if (browse) {
    const rowOf = new Map();
    a.forEach((one, row) => rowOf.set(one + " " + b[row], row));
    const surest = new Set();
    for (let row = 0; row < a.length && surest.size < together; row++)
      for (const at of [a[row], b[row]]) if (surest.size < together) surest.add(at);
    const pages = [["in the surest pairs", [...surest].sort((one, other) => one - other)]];
    for (let from = 0; from < data.names.length; from += together) {
      const page = data.names.slice(from, from + together);
      pages.push([`${from + 1} to ${from + page.length}: ${page[0]} to ${page.at(-1)}`, page.map((_, at) => from + at)]);
    }
    const cut = (name) => (name.length > 24 ? name.slice(0, 15) + "…" + name.slice(-8) : name);
    const headed = (at, scope) => {
      const head = make("th");
      head.scope = scope;
      head.title = data.names[at];
      const text = make("span");
      text.append(scope === "row" ? named(at, cut(data.names[at])) : cut(data.names[at]));
      head.append(text);
      return head;
    };
    const cellOf = (one, other) => {
      const cell = make("td"), row = rowOf.get(one < other ? one + " " + other : other + " " + one);
      if (one === other || row === undefined) return cell;
      const shade = shades[row], faint = !shade;
      const mark = make("span", four(v[row], 2), `s${shade} ${faint ? "faint" : "clear"}`);
      mark.title = v[row] < 0 ? "not known" : `${data.names[one]} and ${data.names[other]}: Cramér’s V ${four(v[row])}, ${interval(row)}; ${faint ? "may be" : "beyond"} noise (q-value ${sureness(row)})`;
      cell.append(mark);
      return cell;
    };
    const [across, down] = [...browse.querySelectorAll("select")].reverse();
    const redraw = () => {
      const [rows, columns] = [down, across].map((one) => pages[one.value][1]);
      const isSame = down.value === across.value;
      const lines = (isSame ? rows.slice(1) : rows).map((one, at) => {
        const line = make("tr");
        line.append(headed(one, "row"), ...(isSame ? columns.slice(0, at + 1) : columns).map((other) => cellOf(one, other)));
        return line;
      });
      const foot = make("tr");
      foot.append(make("td"), ...(isSame ? columns.slice(0, -1) : columns).map((other) => headed(other, "col")));
      matrix.tBodies[0].replaceChildren(...lines, foot);
    };
    for (const one of [across, down]) {
      pages.forEach(([label], at) => one.add(new Option(label, at)));
      one.addEventListener("change", redraw);
    }
    browse.hidden = false;
  }
})();
