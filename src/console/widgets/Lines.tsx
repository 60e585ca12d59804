import { Copy } from "./Copy.tsx";
import style from "./Small.module.css";

interface LinesProps {
  /** Name of the line that is copied: `openssl line`. */
  what: string;
  /** Commands that fetch what the line reads. */
  before?: string;
  line: string;
}

/** Commands of a shell; "Copy" takes the last line alone. */
export function Lines({ what, before, line }: LinesProps) {
  return (
    <div className={style["lines"]}>
      <pre tabIndex={0}>
        {before !== undefined && `${before}\n`}
        {line}
      </pre>
      <Copy text={line} what={what} />
    </div>
  );
}
