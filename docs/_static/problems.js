// A link to a problem unfolds it; without this a click does.
"use strict";
(() => {
  const unfold = () => {
    const part = location.hash && document.getElementById(location.hash.slice(1));
    const section = part && part.closest("section");
    const folded = section && section.querySelectorAll(":scope > details.problem");
    if (folded && folded.length) {
      folded[0].open = true;
      part.scrollIntoView();
    }
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
