import { expect, it } from "vitest";
import { filesBelow, importsOf } from "./sources.ts";

/** Groups of files of which each imports, directly or through others of the group, every other. */
function circles(files: readonly string[]): string[][] {
  const known = new Set(files);
  const targets = new Map(files.map((file) => [file, importsOf(file).flatMap(({ to }) => (known.has(to) ? to : []))]));
  const found: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  /** Tarjan's strongly connected components. */
  function visit(file: string): number {
    const number = order.size;
    order.set(file, number);
    lowest.set(file, number);
    stack.push(file);
    onStack.add(file);
    for (const target of targets.get(file) ?? []) {
      const reached = order.has(target) ? (onStack.has(target) ? order.get(target) : undefined) : visit(target);
      if (reached !== undefined) lowest.set(file, Math.min(lowest.get(file) ?? number, reached));
    }
    if (lowest.get(file) === number) {
      const group = stack.splice(stack.indexOf(file));
      group.forEach((member) => onStack.delete(member));
      if (group.length > 1) found.push(group.sort());
    }
    return lowest.get(file) ?? number;
  }
  for (const file of files) if (!order.has(file)) visit(file);
  return found;
}

it("no files of src import each other in a circle, types included", () => {
  expect(circles(filesBelow("src", [".ts"]))).toEqual([]);
});
