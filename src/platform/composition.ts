import type { Contributions, DomainDefinition } from "./domain.ts";

type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** Domains in the order in which they are built. */
export interface Composition<Ground, Built> {
  /** Names of the domains, from the ground up. */
  readonly names: readonly string[];
  readonly definitions: readonly Pick<AnyDomain, "name" | "entities" | "sealed">[];
  /** Adds a domain above the others; it does not compile unless they provide what it needs. */
  add<Name extends string, Value extends Contributions>(
    domain: DomainDefinition<Name, Ground & Built, Value>,
  ): Composition<Ground, Built & { readonly [K in CamelCase<Name>]: Value }>;
  /** Builds every domain. */
  build(ground: Ground): Built;
}

type AnyDomain = DomainDefinition<string, never, Contributions>;

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/gu, (_, letter: string) => letter.toUpperCase());
}

function compositionOf<Ground, Built>(domains: readonly AnyDomain[]): Composition<Ground, Built> {
  return {
    names: domains.map(({ name }) => name),
    definitions: domains,
    add: (domain) => compositionOf([...domains, domain as unknown as AnyDomain]),
    build(ground) {
      const built: Record<string, unknown> = {};
      for (const { name, build } of domains) built[camelCase(name)] = build({ ...ground, ...built } as never);
      return built as Built;
    },
  };
}

/** A composition without domains. */
export const composition = <Ground>(): Composition<Ground, unknown> => compositionOf([]);
