"""How a report looks, in light and dark. Hues are those of Okabe and Ito, which people with any
colour vision tell apart; shapes and labels say the same."""

from typing import Final

# Of these the classes d0 to d5 are made, one for each direction in turn.
HUES: Final = 6
CSS: Final = """
:root { color-scheme: light dark; --page: #fff; --ink: #1f2328; --faint: #57606a; --line: #d0d7de;
  --soft: #f3f5f7; --link: #0550ae; --warn: #a40e26; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --ink: #e6edf3; --faint: #9198a1;
  --line: #3d444d; --soft: #161b22; --link: #79b8ff; --warn: #ff8a8a; } }
body { background: var(--page); color: var(--ink); margin: 0 auto; padding: 1rem 1.25rem 4rem;
  max-width: 76rem; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.6rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); } h3 { font-size: 1.1rem; } h4 { font-size: 1rem; }
h1, h2, h3, h4, p, td, th, li { overflow-wrap: anywhere; }
p, li { max-width: 60rem; } a { color: var(--link); }
:target { outline: 2px solid var(--link); }
nav ul { columns: 3 14rem; padding-left: 1.2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9em; }
caption { text-align: left; color: var(--faint); padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left;
  vertical-align: top; min-width: 4rem; }
thead th { background: var(--soft); overflow-wrap: normal; }
.event, td a, th a { white-space: nowrap; } th code { font-weight: normal; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, monospace; font-size: .92em; }
pre { background: var(--soft); padding: .6rem .8rem; overflow-x: auto; }
pre.text { max-height: 22rem; overflow: auto; border: 1px solid var(--line); }
figure { margin: 1rem 0; } figcaption { color: var(--faint); max-width: 60rem; }
.warning { border: 3px solid var(--warn); padding: 0 1rem; }
.warning h2 { color: var(--warn); border: 0; margin: .6rem 0 0; }
svg text { fill: var(--ink); font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
svg .small { font-size: 11px; fill: var(--faint); } svg .name { font-weight: 600; }
svg .box, svg .inner { fill: var(--page); stroke: var(--hue); stroke-width: 1.5; }
svg .inner { fill: none; stroke-width: 1; } svg .bar { fill: var(--hue); }
svg .ended { stroke-dasharray: 5 4; } svg .best { stroke-width: 3.5; }
svg .edge { fill: none; stroke: var(--faint); stroke-width: 1.3; } svg .tip { fill: var(--faint); }
svg .scope { stroke-dasharray: 3 4; }
svg .edge.way { stroke: var(--ink); stroke-width: 3; } svg .tip.way { fill: var(--ink); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--faint); }
svg .band { fill: #0072b2; fill-opacity: .22; }
svg .base { stroke: #d55e00; stroke-dasharray: 6 4; }
svg .line { fill: none; stroke: #0072b2; stroke-width: 2.2; }
svg .dot { fill: var(--page); stroke: var(--ink); stroke-width: 1.3; }
svg .dot.first { fill: #0072b2; stroke: #0072b2; }
svg .cross { stroke: #d55e00; stroke-width: 2; }
.d0 { --hue: #0072b2; } .d1 { --hue: #d55e00; } .d2 { --hue: #009e73; } .d3 { --hue: #cc79a7; }
.d4 { --hue: #56b4e9; } .d5 { --hue: #e69f00; } .review { --hue: var(--faint); }
@media print { body { max-width: none; } }
"""
