// What is wrong with a page for those who cannot see it well, or use no mouse: a list of sentences.
(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  if (!document.documentElement.lang) faults.push("no language");
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  for (const field of all("input, select, textarea")) {
    if (!field.labels?.length && !field.ariaLabel) faults.push(`no label: ${field.id || field.name}`);
    if (field.type === "radio" && !field.closest("fieldset")?.querySelector("legend")) faults.push(`no legend: ${field.name}`);
  }
  for (const one of all("button, a, summary")) if (!(one.ariaLabel ?? one.textContent).trim()) faults.push(`no name: ${one.outerHTML}`);
  for (const one of all("svg")) if (!one.querySelector("title")) faults.push("a picture has no title");
  for (const one of all("table")) if (!one.caption) faults.push("a table has no caption");
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  for (const one of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
    for (const id of `${one.getAttribute("aria-labelledby") ?? ""} ${one.getAttribute("aria-describedby") ?? ""}`.split(" ")) {
      if (id && !ids.includes(id)) faults.push(`names nothing: ${id}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`too wide: ${document.documentElement.scrollWidth}`);

  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) =>
    channels(colour).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (one) => {
    for (let node = one; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || seen.has(one) || !one.checkVisibility() || one.closest("title, :disabled, option, .hidden")) continue;
    seen.add(one);
    const style = getComputedStyle(one);
    const colour = one.ownerSVGElement ? style.fill : style.color;
    const [a, b] = [light(colour), light(behind(one))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${one.textContent.trim().slice(0, 30)}`);
    if (parseFloat(style.fontSize) < 12 && parseFloat(style.fontSize) > 0) faults.push(`small: ${one.textContent.trim().slice(0, 30)}`);
  }
  return faults;
})()
