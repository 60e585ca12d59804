import { parse } from "parse5";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { describe, expect, test } from "vitest";
import { compileHtml, fillHtml, UnsafePlaceholder } from "../../src/domains/templates/html/index.ts";
import { HOSTILE, REFUSED, SAFE } from "./placements.ts";

const MAX_BYTES = 5 * 1_048_576;
const filled = (body: string, value: string): string => fillHtml(compileHtml(body), () => value, MAX_BYTES);

/** The structure of a document: elements and names of attributes, without texts and values. */
function structureOf(html: string): string {
  const walk = (node: Tree.Node): string => {
    if (!("childNodes" in node)) return node.nodeName === "#comment" ? "!" : "";
    const attributes = "attrs" in node ? node.attrs.map(({ name }) => name).join() : "";
    const children = "content" in node ? [...node.childNodes, node.content] : node.childNodes;
    return `<${node.nodeName} ${attributes}>${children.map(walk).join("")}</>`;
  };
  return walk(parse(html));
}

/** Every attribute of a document by name. */
function attributesOf(html: string): { name: string; value: string }[] {
  const walk = (node: Tree.Node): { name: string; value: string }[] => [
    ...("attrs" in node ? node.attrs : []),
    ...("childNodes" in node ? node.childNodes.flatMap(walk) : []),
    ...("content" in node ? walk(node.content) : []),
  ];
  return walk(parse(html));
}

describe("placements", () => {
  test("there are at least 120 different ones", () => {
    expect(new Set([...SAFE, ...REFUSED]).size).toBeGreaterThanOrEqual(120);
  });

  test.each(REFUSED)("a placeholder is refused in %s", (body) => {
    expect(() => compileHtml(body)).toThrow(UnsafePlaceholder);
  });

  test.each(SAFE)("no value changes the structure of %s", (body) => {
    const wanted = structureOf(filled(body, "x"));
    for (const value of HOSTILE) {
      const html = filled(body, value);
      expect(structureOf(html), `${body} with ${value}`).toBe(wanted);
      for (const { name, value: text } of attributesOf(html)) {
        if (!/href|src|action|poster|data$|ping|background|cite/u.test(name)) continue;
        const url = URL.parse(text, "https://relative.invalid/");
        expect(url?.protocol ?? "https:", `${name}="${text}"`).toMatch(/^(?:https?|mailto|tel):$/u);
      }
    }
  });

  test("a refused placeholder is named with its line and column", () => {
    expect(() => compileHtml("<p>x</p>\n  <p onclick='{{deed}}'>")).toThrow(/\{\{deed\}\} in line 2, column 15/u);
  });
});

describe("values", () => {
  test("a value is inserted once and never read as a template", () => {
    const template = compileHtml("<p>{{a}} {{b}}</p>");
    const values: Record<string, string> = { a: "{{b}}", b: "{{a}}" };
    expect(fillHtml(template, (name) => values[name] ?? "", MAX_BYTES)).toBe("<p>{{b}} {{a}}</p>");
  });

  test("the four schemes and relative URLs stay, anything else becomes #", () => {
    for (const url of ["https://a.test/x?y=1", "http://a.test", "mailto:a@a.test", "tel:+41", "/a/b", "?q", "#top", ""])
      expect(attributesOf(filled('<a href="{{v}}">x</a>', url))).toEqual([{ name: "href", value: url }]);
    for (const url of ["HTTPS://a.test", "Mailto:a@a.test"])
      expect(filled('<a href="{{v}}">x</a>', url)).toBe(`<a href="${url}">x</a>`);
    for (const url of [
      "javascript:1",
      "JavaScript:1",
      "data:,x",
      "ftp://a.test",
      "file:///etc",
      "blob:x",
      "\u0000javascript:1",
    ])
      expect(filled('<a href="{{v}}">x</a>', url)).toBe('<a href="#">x</a>');
    expect(filled('<img srcset="/a 1x, {{v}} 2x">', "javascript:1")).toBe('<img srcset="#">');
    expect(filled('<svg><rect fill="{{v}}"/></svg>', "url(#a)")).toBe('<svg><rect fill="none"/></svg>');
    expect(filled('<svg><rect fill="{{v}}"/></svg>', "#ffcc00")).toBe('<svg><rect fill="#ffcc00"/></svg>');
  });

  test("braces around anything but a name are text", () => {
    const body = "<p>{{ v }} {{1a}} {{a b}} {{}} {v} {{v</p>";
    expect(compileHtml(body).names).toEqual([]);
    expect(filled(body, "x")).toBe(body);
  });

  test("random values in random places change no structure", () => {
    // A linear congruential generator: failures repeat.
    let state = 20_261_122;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return state % below;
    };
    const alphabet = [
      "<",
      ">",
      '"',
      "'",
      "&",
      ";",
      "/",
      "=",
      "-",
      "!",
      "]",
      "[",
      "{",
      "}",
      ":",
      "#",
      "a",
      "script",
      " ",
    ];
    for (let round = 0; round < 3_000; round++) {
      const body = SAFE[next(SAFE.length)] ?? "";
      const value = Array.from({ length: 1 + next(12) }, () => alphabet[next(alphabet.length)]).join("");
      expect(structureOf(filled(body, value)), `${body} with ${value}`).toBe(structureOf(filled(body, "x")));
    }
  });

  test("a body of 52,000 placeholders, and one of letters alone, compile in linear time", () => {
    const many = compileHtml(`<p>${"{{a}}".repeat(52_000)}</p>`);
    expect(many.names).toEqual(["a"]);
    expect(compileHtml(`<a href="${"a{{a}}".repeat(40_000)}">x</a>`).slots).toHaveLength(1);
    expect(compileHtml(`${"<".repeat(130_000)}${"{{a}} ".repeat(100)}`.replace("<{{", "< {{")).names).toEqual(["a"]);
  });
});
