/** Kinds of value in the `data` of a webhook event; a trailing `?` marks a member that may be absent. */
type Kind = "string" | "uuid" | "integer" | "boolean" | "timestamp" | "string[]" | "uuid[]";
/** Members of the `data` of a webhook event, by name. */
export type DataShape = Readonly<Record<string, Kind | `${Kind}?`>>;

type ValueOf<K extends string> = K extends "integer"
  ? number
  : K extends "boolean"
    ? boolean
    : K extends `${string}[]`
      ? readonly string[]
      : string;
type OptionalNames<S> = { [N in keyof S]: S[N] extends `${string}?` ? N : never }[keyof S];

/** The `data` of a webhook event as a type. */
export type DataOf<S extends DataShape> = {
  readonly [N in Exclude<keyof S, OptionalNames<S>>]: ValueOf<S[N] & string>;
} & {
  readonly [N in OptionalNames<S>]?: (S[N] extends `${infer K}?` ? ValueOf<K> : never) | undefined;
};

/** What one kind of event is called and carries. */
export interface EventRow {
  /** Type in the audit log; null for an event that only webhooks receive. */
  readonly audit: string | null;
  /** Whether the log of authentication events shows it too (interface, Events). */
  readonly isAuthentication: boolean;
  /** Type of the resource in the audit log; null where it has none. */
  readonly resource: string | null;
  /** Type webhooks receive (decisions 11.6); null for an event that only the audit log shows. */
  readonly webhook: string | null;
  /** Members of the webhook event's `data`. */
  readonly data: DataShape;
}

type Options = { resource?: string; webhook?: string; data?: DataShape };
type RowOf<A extends string | null, O extends Options> = {
  readonly audit: A;
  readonly isAuthentication: boolean;
  readonly resource: O extends { resource: infer R extends string } ? R : null;
  readonly webhook: O extends { webhook: infer W extends string } ? W : null;
  readonly data: O extends { data: infer D extends DataShape } ? D : Record<never, never>;
};

function row<A extends string | null, const O extends Options>(
  audit: A,
  isAuthentication: boolean,
  options: O,
): RowOf<A, O> {
  const { resource = null, webhook = null, data = {} } = options as Options;
  return { audit, isAuthentication, resource, webhook, data } as RowOf<A, O>;
}

/** An event of both logs. */
export const authentication = <A extends string, const O extends Options = Record<never, never>>(
  audit: A,
  options: O = {} as O,
) => row(audit, true, options);

/** An event of the organization's log alone. */
export const administrative = <A extends string, const O extends Options = Record<never, never>>(
  audit: A,
  options: O = {} as O,
) => row(audit, false, options);

/** An event that only webhooks receive. */
export const webhookOnly = <W extends string, const D extends DataShape>(webhook: W, data: D) =>
  row(null, false, { webhook, data });
