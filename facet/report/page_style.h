// How the report looks: one style sheet for a wide screen, a phone and paper, in light and dark.
#pragma once

namespace facet {

inline constexpr const char* kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fdfdfb; --ink: #1f2124; --soft: #62676d; --rule: #e4e3dd; --panel: #f5f4ef;
  --shade: 0, 114, 178; --link: #005a8e;
  --line-0: #0072b2; --line-1: #d55e00; --line-2: #009e73; --line-3: #cc79a7;
  --line-4: #b8860b; --line-5: #56b4e9; --line-6: #6a51a3; --line-7: #5c6167;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16181b; --ink: #e8e6e1; --soft: #a3a7ac; --rule: #2e3237; --panel: #1e2125;
    --shade: 86, 169, 224; --link: #8cc8f0;
    --line-0: #56a9e0; --line-1: #f08a4b; --line-2: #3fc99a; --line-3: #e39ac2;
    --line-4: #e0b040; --line-5: #9bd6f7; --line-6: #ae9be0; --line-7: #b4b8bd;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
p { max-width: 44rem; margin: 0 0 1rem; }
a { color: var(--link); }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.9rem, 4.5vw, 2.75rem); font-weight: 680; letter-spacing: -0.02em; margin: 0 0 1rem; }
h2 { font-size: 1.6rem; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 .4rem; }
h3 { font-size: 1.1rem; font-weight: 620; margin: 2.2rem 0 .3rem; }
section { border-top: 1px solid var(--rule); margin-top: 3.2rem; padding-top: 2rem; }
code, pre { font: .84em/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.caption { color: var(--soft); font-size: .94rem; margin-bottom: .5rem; }

header { display: grid; gap: 2.5rem; padding-top: 3rem; }
@media (min-width: 60rem) {
  header { grid-template-columns: minmax(0, 1fr) auto; align-items: start; }
}
.kicker { text-transform: uppercase; letter-spacing: .09em; font-size: .78rem; color: var(--soft); margin: 0 0 .5rem; }
.lead { font-size: 1.16rem; line-height: 1.55; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.6rem, 1fr)); gap: 1.1rem 1.4rem; margin: 1.8rem 0 0; }
.facts div { border-left: 3px solid rgba(var(--shade), .45); padding-left: .7rem; }
.facts dt { font-size: .8rem; color: var(--soft); }
.facts dd { margin: 0; font-size: 1.28rem; font-weight: 620; line-height: 1.25; }
.facts small { display: block; font-weight: 400; font-size: .8rem; color: var(--soft); }
nav { margin-top: 1.8rem; font-size: .94rem; }
nav a { margin-right: 1.2rem; }

figure { margin: 0; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .5rem; max-width: 44rem; }
figcaption p { margin: 0; }
.command { display: block; white-space: pre-wrap; overflow-wrap: anywhere; margin-top: .3rem; color: var(--soft); }
header figcaption { max-width: 24rem; }

.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); gap: 1.8rem 1.6rem; margin-top: 1rem; }
.charts h4 { font-size: .95rem; font-weight: 620; margin: 0 0 .2rem; }
svg.chart { display: block; width: 100%; height: auto; max-width: 28rem; overflow: visible; }
svg.tree { display: block; width: 100%; height: auto; max-width: 46rem; }
svg text { font-size: 11px; fill: var(--soft); }
svg .phase-name { font-size: 9.5px; }
svg .grid { stroke: var(--rule); stroke-width: 1; fill: none; }
svg .axis, svg .tick { stroke: var(--soft); stroke-width: 1; fill: none; opacity: .7; }
svg .phase { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; fill: none; opacity: .6; }
svg .line { fill: none; stroke-width: 1.7; stroke-linejoin: round; stroke-linecap: butt; }
svg .dot { fill: var(--page); stroke-width: 1.5; }
.readout { display: flex; flex-wrap: wrap; gap: 0 .7rem; min-height: 1.4em; font-size: .8rem; color: var(--soft); }
.readout .key::before { content: ""; display: inline-block; width: 14px; height: 3px; margin-right: .35rem; vertical-align: middle; background: var(--series); }
.live svg.chart { touch-action: pan-y; max-width: none; }
.live > svg.printed { display: none; }
svg .rule { stroke: var(--rule); stroke-width: 1; }
svg text.axis, svg text.tick { stroke: none; opacity: 1; fill: var(--soft); }
svg .cursor { stroke: var(--soft); stroke-width: 1; }
svg rect.phase { stroke: none; opacity: 1; fill: none; }
svg rect.phase-1 { fill: var(--panel); }
svg [class*="series-"].line { stroke: var(--series); }
.series-0 { --series: var(--line-0); } .series-1 { --series: var(--line-1); } .series-2 { --series: var(--line-2); } .series-3 { --series: var(--line-3); }
.series-4 { --series: var(--line-4); } .series-5 { --series: var(--line-5); } .series-6 { --series: var(--line-6); } .series-7 { --series: var(--line-7); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0 0; padding: 0; font-size: .84rem; color: var(--soft); }
.legend li { overflow-wrap: anywhere; }
.legend b { color: var(--ink); font-weight: 560; }
.legend .key { width: 22px; height: 8px; margin-right: .35rem; vertical-align: middle; }
.legend .note { font-style: italic; }

.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.word { display: inline-block; max-width: 100%; }
img { display: block; image-rendering: pixelated; }
.wall { display: grid; grid-template-columns: repeat(var(--columns), 1fr); gap: 2px; max-width: calc(var(--columns) * (var(--cell) + 2px)); }
.wall img { width: 100%; height: auto; }
.sheet { border-collapse: separate; border-spacing: 2px; font-size: .84rem; }
.sheet th { font-weight: 450; color: var(--soft); line-height: 1.25; padding: 0 0 .25rem; }
.sheet thead th { vertical-align: bottom; font-size: .78rem; max-width: var(--cell); }
.sheet tbody th { text-align: right; padding: 0 .55rem 0 0; max-width: 6.4rem; color: var(--ink); }
.sheet small { display: block; font-size: .78rem; color: var(--soft); white-space: nowrap; }
.sheet td { padding: 0; }
.sheet img { width: var(--cell); height: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 33rem), 1fr)); gap: 2rem 1.5rem; margin-top: 1rem; }
.pair h4, .stack h4 { margin: 0 0 .3rem; font-size: 1rem; font-weight: 620; overflow-wrap: anywhere; }
.stack > figure { margin-top: 2.2rem; }
.stack > figure:first-child { margin-top: 0; }
@media (min-width: 60rem) {
  .beside { display: grid; grid-template-columns: auto minmax(14rem, 1fr); gap: 0 2rem; align-items: start; }
  .beside > figcaption { margin-top: 1.4rem; }
  .beside > h3 { grid-column: 1 / -1; }
}

.table { border-collapse: collapse; font-size: .92rem; margin-top: .8rem; }
.table th, .table td { padding: .38rem .75rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
.table thead th { font-weight: 560; color: var(--soft); vertical-align: bottom; }
.table th:first-child, .table .left { text-align: left; }
.table tbody th { font-weight: 560; }
.table small { display: block; color: var(--soft); font-size: .78rem; }
.table .shaded, .matrix thead th + th { text-align: center; min-width: 4.2rem; }
.table .shaded small { color: inherit; }
.table tfoot td, .table tfoot th { border-bottom: 0; }

details { border: 1px solid var(--rule); border-radius: 8px; background: var(--panel); margin-top: 1rem; }
summary { cursor: pointer; padding: .6rem 1rem; font-weight: 560; }
pre { margin: 0; padding: .9rem 1rem; overflow-x: auto; background: var(--panel); border-radius: 8px; }
details pre { border-top: 1px solid var(--rule); border-radius: 0 0 8px 8px; }
footer { color: var(--soft); font-size: .88rem; padding-top: 2.5rem; padding-bottom: 3rem; }

@media (max-width: 44rem) {
  main, footer { padding: 0 1rem; }
  header { padding-top: 1.8rem; gap: 1.8rem; }
  .lead { font-size: 1.06rem; }
  .facts { grid-template-columns: 1fr 1fr; }
  .wall { grid-template-columns: repeat(min(var(--columns), 8), 1fr); }
  .sheet tbody th { max-width: 4.2rem; }
  .sheet img { width: clamp(1.85rem, calc((100vw - 6.7rem) / var(--columns) - 2px), var(--cell)); }
  .sheet.bare img { width: clamp(2.1rem, calc((100vw - 2.6rem) / var(--columns) - 2px), var(--cell)); }
  .many thead th { font-size: .6rem; letter-spacing: -.01em; }
  .many thead th span { display: inline-block; margin: 0 -.5rem; }
  .table th:first-child { position: sticky; left: 0; background: var(--page); }
}
@media print {
  :root { --page: #fff; --ink: #000; --soft: #444; --rule: #ccc; --panel: #fff; --shade: 0, 114, 178; --link: #000;
    --line-0: #0072b2; --line-1: #d55e00; --line-2: #009e73; --line-3: #cc79a7;
    --line-4: #b8860b; --line-5: #56b4e9; --line-6: #6a51a3; --line-7: #5c6167; }
  @page { margin: 14mm; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  html { font-size: 8.5pt; }
  nav { display: none; }
  main, footer { max-width: none; padding: 0; }
  header { padding-top: 0; display: block; }
  header figure { margin-top: 1.2rem; }
  section { margin-top: 1.6rem; padding-top: 1rem; }
  h2, h3, h4, section > .caption { break-after: avoid; }
  p, figure, .facts, tr { break-inside: avoid; }
  .charts { grid-template-columns: 1fr 1fr 1fr 1fr; gap: 1rem .8rem; }
  .live > svg.printed { display: block; }
  .live > svg:not(.printed), .readout { display: none; }
  svg text { font-size: 13px; }
  .table th, .table td { padding: .25rem .45rem; }
  .table .left { white-space: normal; }
  details pre { columns: 2; }
  .pair { grid-template-columns: 1fr 1fr; }
  .pair .sheet { --cell: 38px !important; }
  .scroll { overflow: visible; }
  .command, pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
)css";

}  // namespace facet
