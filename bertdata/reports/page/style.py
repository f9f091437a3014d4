"""Style sheet of a report: light and dark, any screen width, and print."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """\
:root { color-scheme: light dark; --paper: #ffffff; --soft: #f4f5f6; --ink: #1b1f23; --faint: #58616b; --rule: #d9dde1;
  --keep: #2c6694; --keep-soft: #c5d9ea; --drop: #a5501c; --drop-soft: #f0d6c5; --broken: #96243a; --other: #55705a;
  --mask: #1d4f7a; --mask-ink: #ffffff; --random: #f6dfd0; --random-ink: #6f3410; --kept: #dcebdc; --kept-ink: #23472a; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --soft: #1e2226; --ink: #e6e8ea; --faint: #a3acb5;
  --rule: #363c43; --keep: #82b3db; --keep-soft: #2a465e; --drop: #dd9669; --drop-soft: #553521; --broken: #ee8d9e;
  --other: #98bb9d; --mask: #9cc6ea; --mask-ink: #0e2233; --random: #5a3820; --random-ink: #f8dcc8; --kept: #2c4631;
  --kept-ink: #d5ecd8; } }
@media print { :root { color-scheme: light; --paper: #fff; --soft: #fff; --ink: #000; --faint: #444; --rule: #bbb;
  --keep: #2c6694; --keep-soft: #c5d9ea; --drop: #a5501c; --drop-soft: #f0d6c5; --broken: #96243a; --other: #55705a;
  --mask: #1d4f7a; --mask-ink: #ffffff; --random: #f6dfd0; --random-ink: #6f3410; --kept: #dcebdc; --kept-ink: #23472a; }
  * { print-color-adjust: exact; } nav, .skip { display: none; } figure, tr, .tile { break-inside: avoid; }
  h2, h3 { break-after: avoid; } body { font-size: 10pt; } }
*, *::before { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55; overflow-wrap: anywhere; font-size: 1rem;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "PingFang SC", "Microsoft YaHei",
    "Noto Sans CJK SC", "Noto Sans SC", sans-serif; }
:lang(ja) { font-family: system-ui, "Hiragino Sans", "Noto Sans CJK JP", sans-serif; }
header, main, nav, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; font-weight: 650; margin: 0 0 .3rem; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1.25rem; font-weight: 650; margin: 0 0 .75rem; }
h3 { font-size: 1rem; font-weight: 650; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0 .9rem; max-width: 44rem; text-wrap: pretty; }
.faint, caption, figcaption, footer { color: var(--faint); font-size: .9rem; }
a { color: var(--keep); text-underline-offset: .15em; }
a:focus-visible, .scroll:focus-visible { outline: 3px solid var(--keep); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; top: 0; background: var(--paper); padding: .75rem; }
.skip:focus { left: 0; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; margin: 1.5rem 0 0; padding: .6rem 0;
  border-block: 1px solid var(--rule); font-size: .95rem; }
nav a { display: inline-block; padding: .25rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { padding: 2.25rem 0 .5rem; }
section + section { border-top: 1px solid var(--rule); margin-top: 1.5rem; }
.part > h2 { font-size: 1.55rem; } .part > div > h3:first-child { font-size: 1.2rem; margin-top: 2.25rem; }
dl.tiles { display: flex; flex-wrap: wrap; gap: 1px; margin: 1.5rem 0 0; padding: 1px; }
.tile { flex: 1 1 auto; min-width: 8.5rem; box-shadow: 0 0 0 1px var(--rule); padding: .8rem 1rem;
  display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.tile dt { color: var(--faint); font-size: .88rem; }
.tile dd { margin: 0; font-size: 1.4rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.25;
  white-space: nowrap; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1.5rem 2.5rem;
  align-items: start; }
.pair > * { min-width: 0; }
figure { margin: .5rem 0 1rem; max-width: 34rem; } figure h3 { margin-top: .5rem; }
svg { display: block; width: 100%; height: auto; font-size: 12px; font-family: inherit; }
svg text { fill: var(--ink); } svg .f { fill: var(--faint); } svg .d { fill: var(--drop); } svg .r { fill: var(--broken); }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--faint); fill: none; }
svg .s0 { fill: var(--keep); } svg .s1 { fill: var(--drop); } svg .s2 { fill: var(--other); } svg .s3 { fill: var(--broken); }
svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .l0 { stroke: var(--keep); } svg .l1 { stroke: var(--drop); }
svg .l2 { stroke: var(--other); } svg .l3 { stroke: var(--broken); }
svg .across { stroke: var(--faint); stroke-dasharray: 5 4; }
svg .keep { fill: var(--keep-soft); } svg .lost { fill: var(--drop-soft); } svg .edge { fill: var(--keep); }
svg .b { font-weight: 600; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; }
table { border-collapse: collapse; min-width: min(100%, 26rem); font-size: .93rem; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: baseline; overflow-wrap: break-word; padding: .34rem .9rem .34rem 0;
  border-bottom: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--faint); font-weight: 500; font-size: .87rem; vertical-align: bottom; }
thead .n { white-space: normal; } tbody th { font-weight: 400; } tbody th:not(.n) { min-width: 5rem; }
bdi { overflow-wrap: anywhere; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal; }
td .bar { display: block; width: 9rem; } .pair td .bar { width: 4rem; }
.bar > span { display: block; height: .6rem; background: var(--keep); min-width: 1px; }
.bar.drop > span { background: var(--drop); } .bar.broken > span { background: var(--broken); }
.flag { font-weight: 600; color: var(--broken); } .good { font-weight: 600; color: var(--other); }
.guess, td .piece bdi { white-space: nowrap; }
.piece { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; font-size: .88em;
  background: var(--soft); padding: .08em .3em; border-radius: 3px; }
article { border-left: 3px solid var(--rule); padding: .1rem 0 .1rem 1rem; margin: 1.25rem 0 1.75rem; }
article h3 { margin: 0; } article p { margin: .35rem 0; overflow: hidden; } article .faint { margin: 0 0 .5rem; }
.a { border-bottom: 0; } .label { font-weight: 600; }
mark { background: var(--mask); color: var(--mask-ink); padding: .05em .25em; border-radius: 3px; unicode-bidi: isolate; }
mark.random { background: var(--random); color: var(--random-ink); }
mark.kept { background: var(--kept); color: var(--kept-ink); border-bottom: 2px dotted currentColor; }
.cut { border-left: 1px solid var(--faint); margin: 0 .12em; }
.key { display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; list-style: none; padding: 0; font-size: .92rem; }
footer { border-top: 1px solid var(--rule); margin-top: 2.5rem; padding-block: 1.25rem 3rem; }
@media (max-width: 34rem) { header { padding-top: 1.5rem; } h1 { font-size: 1.55rem; } svg { font-size: 14.5px; }
  .tile { flex-basis: 40%; } th, td { padding-right: .45rem; } table { font-size: .87rem; min-width: 100%; }
  td .bar { width: 3.5rem; } article { padding-left: .6rem; } td .piece { padding-inline: .15em; }
  .many tr > :last-child { display: none; } .many tr > * { padding-right: .25rem; } .many tbody th:not(.n) { min-width: 0; }
  .many table, .many thead th { font-size: .81rem; } }
"""
