import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { ButtonLink } from "../../widgets/Button.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import style from "./Overview.module.css";

const SHOWN = 8;

/** The apps of the organization, newest first. */
export function OwnApps() {
  const installs = useQuery(BuyerService.method.listInstalls, { limit: SHOWN });
  return (
    <Section title="Apps" actions={<ButtonLink to="/console/installs">All installs</ButtonLink>}>
      <Answer of={installs}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty
              text="No app is installed yet."
              action={<ButtonLink to="/console/apps">Open the marketplace</ButtonLink>}
              api="POST /api/marketplace/{slug}/install"
            />
          ) : (
            <ul className={style["rows"]}>
              {data.map(({ installId, app, status }) => (
                <li key={installId}>
                  <Link to={`/console/installs/${installId}`}>{app?.name}</Link>
                  <Status of={status} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Section>
  );
}
