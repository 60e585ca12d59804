/** Styles of the curriculum vitae: A4 on paper, one column on a phone. Fonts are those of the system. */
export const CV_STYLE = `
      :root { --ink: #1a1d21; --quiet: #5b6470; --line: #d9dee4; --accent: #1f5fae; }
      * { box-sizing: border-box; }
      body { margin: 0; background: #eef1f4; color: var(--ink);
        font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
      main { max-width: 210mm; min-height: 297mm; margin: 1.5rem auto; padding: 18mm 20mm; background: #fff;
        box-shadow: 0 1px 4px rgb(0 0 0 / 18%); }
      header { padding-bottom: 1rem; border-bottom: 3px solid var(--accent); }
      h1 { margin: 0; font-size: 2rem; line-height: 1.15; letter-spacing: -0.01em; }
      h2 { margin: 1.75rem 0 0.75rem; color: var(--accent); font-size: 0.85rem; letter-spacing: 0.09em;
        text-transform: uppercase; }
      h3 { margin: 0; font-size: 1rem; }
      p { margin: 0; overflow-wrap: anywhere; }
      .title { color: var(--quiet); font-size: 1.1rem; }
      .contact { margin-top: 0.25rem; }
      .contact a { color: inherit; }
      .entry { display: grid; grid-template-columns: 1fr auto; gap: 0 1.5rem; margin-bottom: 1rem;
        break-inside: avoid; }
      .entry .when { color: var(--quiet); font-variant-numeric: tabular-nums; text-align: right; }
      .entry .where { color: var(--quiet); grid-column: 1 / -1; }
      .entry .what { grid-column: 1 / -1; margin-top: 0.25rem; white-space: pre-line; }
      .skills { display: flex; flex-wrap: wrap; gap: 0.4rem; margin: 0; padding: 0; list-style: none; }
      .skills li { padding: 0.1rem 0.65rem; border: 1px solid var(--line); border-radius: 1rem; font-size: 0.9rem;
        overflow-wrap: anywhere; }
      @page { size: A4; margin: 16mm 18mm; }
      @media print {
        body { background: none; font-size: 10.5pt; }
        main { max-width: none; min-height: 0; margin: 0; padding: 0; box-shadow: none; }
        * { print-color-adjust: exact; }
      }
      @media screen and (max-width: 640px) {
        body { background: #fff; }
        main { min-height: 0; margin: 0; padding: 1.5rem 1.25rem; box-shadow: none; }
        .entry { grid-template-columns: 1fr; }
        .entry .when { text-align: left; }
      }
    `;
