"use strict";
(() => {
  // Cards stand beside what opened them, where there is room.
  let opener;
  document.addEventListener("click", ({ target }) => (opener = target.closest?.("[popovertarget]") ?? opener), true);
  for (const card of document.querySelectorAll("[popover]")) card.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open" || !opener || card.contains(opener)) return;
    const { left, top, bottom } = opener.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const below = bottom + 6 + height <= innerHeight ? bottom + 6 : top - 6 - height >= 0 ? top - 6 - height : undefined;
    card.style.margin = below === undefined ? "auto" : "0";
    card.style.left = below === undefined ? "" : `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    card.style.top = below === undefined ? "" : `${below}px`;
  });

  // What is ready to paste is copied by a button; where the clipboard is closed, it is selected.
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      let words = "Copied.";
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection().selectAllChildren(source);
        words = "Selected: copy it with your keyboard.";
      }
      document.getElementById("copied").textContent = words;
      const text = button.textContent;
      button.textContent = words;
      setTimeout(() => (button.textContent = text), 2000);
    });
  }
})();
