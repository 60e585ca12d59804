import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/**
 * Goes to another page, once. `Navigate` of the router goes there again at every render, which never ends where what is
 * around it reads the address.
 */
export function Redirect({ to, next }: { to: string; next?: string | undefined }) {
  const navigate = useNavigate();
  const gone = useRef(false);
  useEffect(() => {
    if (gone.current) return;
    gone.current = true;
    void navigate({ to, search: { next }, replace: true });
  });
  return <div aria-busy="true" />;
}
