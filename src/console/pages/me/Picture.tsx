import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { callRest, queries } from "../../session/session.ts";
import { Button } from "../../widgets/Button.tsx";
import { alertToast, toast } from "../../widgets/toasts.ts";
import style from "./Picture.module.css";

const TYPES = "image/png,image/jpeg,image/webp";

/** The picture of the caller. It needs a bearer, so it is read by a call and shown as a local object. */
export function Picture({ userUuid }: { userUuid: string }) {
  const [busy, setBusy] = useState(false);
  const picture = useQuery({
    queryKey: ["picture", userUuid],
    queryFn: async () => (await callRest(UsersService.method.getPicture, `/api/users/${userUuid}/picture`)).blob(),
  });
  const url = useObjectUrl(picture.data);

  function choose(): void {
    const input = Object.assign(document.createElement("input"), { type: "file", accept: TYPES });
    input.addEventListener("change", () => {
      const [file] = input.files ?? [];
      if (file !== undefined) void send(file);
    });
    input.click();
  }

  async function send(file: File): Promise<void> {
    setBusy(true);
    try {
      await callRest(UsersService.method.setPicture, "/api/profile/picture", {
        method: "PUT",
        headers: { "content-type": file.type },
        body: file,
      });
      await queries.invalidateQueries({ queryKey: ["picture"] });
      toast("Picture saved");
    } catch (error) {
      alertToast(failureOf(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className={style["row"]}>
      {url === undefined ? (
        <span className={style["picture"]} />
      ) : (
        <img className={style["picture"]} src={url} alt="Your picture" width={72} height={72} />
      )}
      <Button busy={busy} onClick={choose}>
        Upload picture
      </Button>
    </div>
  );
}

function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
