import { useId, useRef } from "react";
import { pieces } from "./placeholders.ts";
import style from "./Templates.module.css";

interface BodyEditorProps {
  value: string;
  onChange: (value: string) => void;
}

/** The text of a template with its placeholders marked: the marks are painted behind a transparent text field. */
export function BodyEditor({ value, onChange }: BodyEditorProps) {
  const id = useId();
  const marks = useRef<HTMLPreElement>(null);
  return (
    <div className={style["field"]}>
      <label htmlFor={id}>Body</label>
      <div className={style["editor"]}>
        <pre ref={marks} aria-hidden>
          {pieces(value).map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece))}
          {"\n"}
        </pre>
        <textarea
          id={id}
          value={value}
          spellCheck={false}
          autoComplete="off"
          maxLength={262_144}
          onChange={({ target }) => onChange(target.value)}
          onScroll={({ currentTarget }) => {
            if (marks.current === null) return;
            marks.current.scrollTop = currentTarget.scrollTop;
            marks.current.scrollLeft = currentTarget.scrollLeft;
          }}
        />
      </div>
    </div>
  );
}
