import { Link } from "@tanstack/react-router";
import { Door } from "./Door.tsx";

/** A page of a mailed link that was opened without its token. */
export function LinkIncomplete({ title }: { title: string }) {
  return (
    <Door
      title={title}
      about="The address is incomplete, or this page was loaded again. Open the link in the mail once more."
    >
      <Link to="/sign-in">Go to sign-in</Link>
    </Door>
  );
}
