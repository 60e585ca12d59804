import { services } from "../../gen/services.ts";
import { codeOf, filesBelow } from "../shape/sources.ts";

/** Name of an rpc as the lists of exceptions write it: `UsersService.listUsers`. */
export const rpcNames: readonly string[] = services.flatMap(({ name, methods }) =>
  methods.map(({ localName }) => `${name}.${localName}`),
);

/** Service that a generated file exports under a name; undefined when it has none of that name. */
function serviceIn(path: string, name: string): string | undefined {
  const file = /\/gen\/(.+)_pb\.ts$/u.exec(path)?.[1];
  return services.find((service) => service.name === name && service.file.name === file)?.name;
}

const importLine = /import\s*\{([^}]*)\}\s*from\s*"([^"]+_pb\.ts)"/gu;

/**
 * Rpcs that a source uses: `Service.method.x`, `const { x } = Service.method`, and `client.x()` of a client that it
 * makes of the service.
 */
export function rpcsIn(code: string): Set<string> {
  const found = new Set<string>();
  for (const [, names = "", path = ""] of code.matchAll(importLine))
    for (const [, imported = "", alias] of names.matchAll(/(\w+)(?:\s+as\s+(\w+))?/gu)) {
      const service = serviceIn(path, imported);
      if (service === undefined) continue;
      const local = alias ?? imported;
      const add = (method: string): void => void found.add(`${service}.${method}`);
      const all = (pattern: string): RegExpExecArray[] => [...code.matchAll(new RegExp(pattern, "gu"))];
      for (const [, method = ""] of all(`\\b${local}\\s*\\.method\\s*\\.(\\w+)`)) add(method);
      for (const [, taken = ""] of all(`\\{([^{}]*)\\}\\s*=\\s*${local}\\s*\\.method\\b`))
        for (const [method] of taken.replaceAll(/:\s*\w+/gu, "").matchAll(/\w+/gu)) add(method);
      for (const [, client = ""] of all(`(\\w+)\\s*=\\s*createClient\\(\\s*${local}\\b`))
        for (const [, method = ""] of all(`\\b${client}\\s*\\.(\\w+)\\(`)) add(method);
    }
  return found;
}

/** Every rpc that the console uses. */
export function rpcsOfConsole(): Set<string> {
  return new Set(filesBelow("src/console", [".ts", ".tsx"]).flatMap((file) => [...rpcsIn(codeOf(file))]));
}
