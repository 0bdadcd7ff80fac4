// The meter: what the map keeps of the rows' neighbours and how well it tells classes apart.
"use strict";

window.octavoMeter = (() => {
  const {$} = window.octavoTip;
  const NOISE = 0.0005; // smaller changes are not shown as any
  let last = null;

  const signed = (v) => (Math.abs(v) < NOISE ? "±0" : (v > 0 ? "+" : "−") + Math.abs(v).toFixed(3).replace(/^0/, ""));
  const plainly = (v) => v.toFixed(3).replace(/^0(?=\.)/, "");

  function line(id, {now, before, plain}) {
    const row = $(id);
    row.hidden = now === null;
    if (now === null) return;
    row.querySelector(".now").textContent = plainly(now);
    row.querySelector(".plain").textContent = plainly(plain);
    const step = row.querySelector(".step"), all = row.querySelector(".all");
    for (const [cell, change] of [[step, now - before], [all, now - plain]]) {
      cell.textContent = signed(change);
      cell.className = cell.className.split(" ")[0] + (change >= NOISE ? " gain" : change <= -NOISE ? " loss" : "");
    }
    row.querySelector(".bar i").style.width = `${100 * now}%`;
    row.querySelector(".bar b").style.left = `${100 * plain}%`;
  }

  function show(reading) {
    last = reading;
    line("meter-kept", reading.kept);
    line("meter-separation", reading.separation);
    $("meter-column").textContent = reading.column === null ? "" : `, ${reading.column}`;
    $("meter-rows").textContent = reading.rows < octavoAbout.rows
      ? `Of ${reading.rows.toLocaleString("en-GB")} rows, drawn at random.` : "";
    $("meter").classList.add("read");
  }

  return {show, signed, read: () => last};
})();
