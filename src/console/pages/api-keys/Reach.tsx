import type { ReactNode } from "react";

/** What a credential opens, as a list that unfolds; `children` ends its summary. */
export function Reach({
  operations,
  of,
  className,
  children,
}: {
  operations: readonly string[];
  /** How many operations there are. */
  of: number;
  className: string | undefined;
  children?: ReactNode;
}) {
  return (
    <details className={className}>
      <summary>
        <span role="status">
          Opens {operations.length} of {of} operations
        </span>
        {children}
      </summary>
      <ul tabIndex={0} aria-label="Operations">
        {operations.map((operation) => (
          <li key={operation}>
            <code>{operation}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
