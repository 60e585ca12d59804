import { useEffect, useState } from "react";
import { dropElevation } from "../session/transport.ts";
import { useElevation } from "../session/use-session.ts";
import { Button } from "../widgets/Button.tsx";
import { clock } from "../widgets/words.ts";
import style from "./Shell.module.css";

/** How long a step-up still holds, and a way to give it up. */
export function Elevated() {
  const until = useElevation();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (until === undefined) return;
    setNow(Date.now());
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= until) dropElevation();
    }, 1_000);
    return () => clearInterval(timer);
  }, [until]);
  if (until === undefined) return null;
  return (
    <span className={style["elevated"]}>
      <span>Elevated, {clock(Math.max(0, (until - now) / 1000))} left</span>
      <Button look="quiet" small onClick={dropElevation}>
        Drop
      </Button>
    </span>
  );
}
