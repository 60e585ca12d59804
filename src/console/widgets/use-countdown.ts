import { useEffect, useMemo, useRef, useState } from "react";

/** Counts seconds down to 0, then calls `onEnd` once; starts again whenever `from` or `since` changes. */
export function useCountdown(from: number | undefined, since?: unknown, onEnd?: () => void): number {
  const [left, setLeft] = useState(from ?? 0);
  const atEnd = useRef(onEnd);
  useEffect(() => {
    atEnd.current = onEnd;
  }, [onEnd]);
  useEffect(() => {
    setLeft(from ?? 0);
    if (from === undefined) return;
    const until = Date.now() + from * 1000;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((until - Date.now()) / 1000));
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      atEnd.current?.();
    }, 500);
    return () => clearInterval(timer);
  }, [from, since]);
  return left;
}

/** Seconds until a moment, counted down to 0; never more than `longestMs`, even when the browser's clock is wrong. */
export function useCountdownTo(dueMs: number | undefined, longestMs = Infinity): number {
  const seconds = useMemo(
    () => (dueMs === undefined ? undefined : Math.ceil(Math.min(Math.max(0, dueMs - Date.now()), longestMs) / 1000)),
    [dueMs, longestMs],
  );
  return useCountdown(seconds, dueMs);
}
