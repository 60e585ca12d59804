import { useEffect, useRef, useState } from "react";
import { serviceUrl } from "../../settings.ts";
import { Button } from "../../widgets/Button.tsx";
import { classes } from "../../widgets/words.ts";
import style from "./Templates.module.css";

/** How long the text has to rest before it is shown again. */
const REST_MS = 300;

/**
 * Shows HTML in a frame of an opaque origin: no script of it runs, and nothing of it reaches the console or a network.
 * The page in the frame takes one message, so every change loads it anew.
 */
export function Preview({ html, title = "Preview" }: { html: string; title?: string }) {
  const [narrow, setNarrow] = useState(false);
  const [shown, setShown] = useState({ html, version: 0 });
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    if (html === shown.html) return;
    const timer = setTimeout(() => setShown(({ version }) => ({ html, version: version + 1 })), REST_MS);
    return () => clearTimeout(timer);
  }, [html, shown]);
  return (
    <div className={style["preview"]}>
      <div className={style["widths"]} role="group" aria-label="Width of the preview">
        <Button small aria-pressed={!narrow} onClick={() => setNarrow(false)}>
          Wide
        </Button>
        <Button small aria-pressed={narrow} onClick={() => setNarrow(true)}>
          Narrow
        </Button>
      </div>
      <iframe
        key={shown.version}
        ref={frame}
        title={title}
        className={classes(style["frame"], narrow && style["narrow"])}
        sandbox="allow-scripts"
        src={`${serviceUrl}/console/preview`}
        // The frame has an opaque origin, which no target origin names.
        onLoad={() => frame.current?.contentWindow?.postMessage(shown.html, "*")}
      />
    </div>
  );
}
