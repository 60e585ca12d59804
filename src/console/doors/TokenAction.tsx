import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ConfirmEmailRequestSchema, DisownEmailRequestSchema } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { EmptySchema } from "@bufbuild/protobuf/wkt";
import { linkToken } from "../session/link-token.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { Done, FailureNotice, Notice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import { LinkIncomplete } from "./LinkIncomplete.tsx";

interface TokenActionProps {
  method: DescMethodUnary<typeof ConfirmEmailRequestSchema | typeof DisownEmailRequestSchema, typeof EmptySchema>;
  title: string;
  about: string;
  button: string;
  done: string;
  grave?: boolean;
}

/** A page that does one thing with the token of a mailed link, when its button is pressed. */
export function TokenAction({ method, title, about, button, done, grave = false }: TokenActionProps) {
  const token = linkToken()?.token;
  const call = useCall(method, { transport: publicTransport });
  const [isDone, setDone] = useState(false);
  if (token === undefined) return <LinkIncomplete title={title} />;
  return (
    <Door title={title} about={isDone ? undefined : about}>
      {isDone ? (
        <>
          <Done>{done}</Done>
          <Link to="/sign-in">Go to sign-in</Link>
        </>
      ) : (
        <>
          {call.failure !== undefined &&
            (call.failure.code === "unauthorized" ? (
              <Notice kind="bad" requestId={call.failure.requestId}>
                The link has expired or was used before.
              </Notice>
            ) : (
              <FailureNotice failure={call.failure} />
            ))}
          <Button
            look={grave ? "danger" : "primary"}
            wide
            busy={call.busy}
            onClick={() => void call.run({ token }).then((answer) => setDone(answer !== undefined))}
          >
            {button}
          </Button>
          {call.failure !== undefined && <Link to="/sign-in">Go to sign-in</Link>}
        </>
      )}
    </Door>
  );
}
