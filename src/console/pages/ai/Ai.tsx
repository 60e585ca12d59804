import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import type { SyntheticEvent } from "react";
import {
  CreateMcpServerRequestSchema,
  GatewayService,
  SetRoutingConfigRequestSchema,
} from "../../../../gen/atrium/gateway/v1/gateway_pb.ts";
import type { GatewayConfig, McpServer, RoutingConfig } from "../../../../gen/atrium/gateway/v1/gateway_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Confirm, Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Check, Field, FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useReadAnew, useTyped } from "../../widgets/form/use-typed.ts";
import { useGuard } from "../../widgets/guard.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import style from "./Ai.module.css";
import { faultOfBudget } from "./budget.ts";

const PROVIDERS: readonly (readonly [string, string])[] = [
  ["openai", "OpenAI"],
  ["anthropic", "Anthropic"],
  ["google", "Google"],
  ["mistral", "Mistral"],
  ["bedrock", "Amazon Bedrock"],
];

/** Which models the organization's programs reach, and for how much. */
export default function Ai() {
  const gateway = useQuery(GatewayService.method.getGatewayConfig, {});
  const routing = useQuery(GatewayService.method.getRoutingConfig, {});
  return (
    <Page
      title="AI settings"
      about="Provider, monthly budget, models and servers of tools. Changes take effect at once."
    >
      <Section title="Provider and budget">
        <Answer of={gateway} lines={3}>
          {(config) => <Gateway config={config} />}
        </Answer>
      </Section>
      <Section title="Models" about="Requests go to the small model first.">
        <Answer of={routing} lines={3}>
          {(config) => <Routing config={config} />}
        </Answer>
      </Section>
      <McpServers />
      <CodeSample http="PUT /api/ops/ai-gateway-config" body={{ provider: "anthropic", budget_usd: 250.5 }} />
    </Page>
  );
}

const valuesOf = ({ provider, budgetUsd }: GatewayConfig) => ({
  provider: provider ?? PROVIDERS[0]?.[0] ?? "",
  budget: budgetUsd === undefined ? "" : String(budgetUsd),
});

function Gateway({ config }: { config: GatewayConfig }) {
  const typed = useTyped(config, valuesOf);
  const [fault, setFault] = useState<string>();
  const { provider, budget } = typed.values;
  useGuard(typed.changed);
  const save = useCall(GatewayService.method.setGatewayConfig, { done: "Provider and budget saved" });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    const found = faultOfBudget(budget);
    setFault(found);
    if (found !== undefined) return;
    void save.run({ provider, budgetUsd: Number(budget) }).then((done) => done && typed.saved({ provider, budget }));
  };
  return (
    <FormBody onSubmit={submit}>
      <div className={style["pair"]}>
        <Select
          label="Provider"
          value={provider}
          onChange={(next) => typed.set({ provider: next })}
          options={PROVIDERS}
        />
        <Input
          label="Budget USD"
          hint="US dollars a month"
          value={budget}
          onChange={(next) => typed.set({ budget: next })}
          inputMode="decimal"
          placeholder="250.00"
          error={fault}
        />
      </div>
      {save.failure !== undefined && <FailureNotice failure={save.failure} />}
      <div>
        <Button look="primary" type="submit" busy={save.busy}>
          Save budget
        </Button>
      </div>
    </FormBody>
  );
}

const modelsOf = ({ slm = "", llm = "", autoEscalate }: RoutingConfig) => ({ slm, llm, autoEscalate });

function Routing({ config }: { config: RoutingConfig }) {
  const form = useForm(SetRoutingConfigRequestSchema, modelsOf(config), true);
  useReadAnew(config, (read) => form.follow(modelsOf(read)));
  const save = useCall(GatewayService.method.setRoutingConfig, { done: "Models saved" });
  return (
    <FormBody form={form} onSubmit={form.submit((values) => save.run(values))}>
      <div className={style["pair"]}>
        <Field form={form} name="slm" label="SLM" hint="The small language model" spellCheck={false} />
        <Field form={form} name="llm" label="LLM" hint="The large language model" spellCheck={false} />
      </div>
      <Check
        label="Auto escalate: what the small model cannot answer goes to the large one"
        checked={form.values.autoEscalate ?? false}
        onChange={(autoEscalate) => form.set({ autoEscalate })}
      />
      {save.failure !== undefined && <FailureNotice failure={save.failure} />}
      <div>
        <Button look="primary" type="submit" busy={save.busy}>
          Save models
        </Button>
      </div>
    </FormBody>
  );
}

function McpServers() {
  const servers = useQuery(GatewayService.method.listMcpServers, {});
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<McpServer>();
  const remove = useCall(GatewayService.method.deleteMcpServer, { done: "MCP server removed" });
  return (
    <Section
      title="MCP servers"
      about="Servers of tools for models: built-in ones, and the organization's own."
      actions={
        <Button data-create onClick={() => setAdding(true)}>
          Add MCP server
        </Button>
      }
    >
      <Answer of={servers}>
        {({ data }) => (
          <Rows
            caption="MCP servers"
            rows={data}
            rowKey={({ id }) => id}
            columns={[
              { header: "Name", cell: ({ name }) => name },
              { header: "Status", cell: ({ status }) => <Status of={status} /> },
              { header: "Install command", cell: ({ installCommand }) => <code>{installCommand}</code> },
            ]}
            actions={(server) =>
              server.builtIn ? (
                "Built in"
              ) : (
                <Button small title={server.name} onClick={() => setRemoved(server)}>
                  Remove
                </Button>
              )
            }
          />
        )}
      </Answer>
      {adding && <AddServer onClose={() => setAdding(false)} />}
      <Confirm
        title={`Remove the MCP server ${removed?.name ?? ""}?`}
        about="Models can no longer use its tools."
        verb="Remove"
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          void remove.run({ id: removed.id }).then((done) => done && setRemoved(undefined));
        }}
      />
    </Section>
  );
}

function AddServer({ onClose }: { onClose: () => void }) {
  const form = useForm(CreateMcpServerRequestSchema, { name: "", installCommand: "", status: "available" });
  const call = useCall(GatewayService.method.createMcpServer, { done: "MCP server added" });
  return (
    <Dialog title="Add MCP server" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => (await call.run(values)) !== undefined && onClose())}
      >
        <Field form={form} name="name" />
        <Field form={form} name="installCommand" spellCheck={false} placeholder="npx -y @example/server" />
        <Select
          label="Status"
          value={form.values.status ?? "available"}
          onChange={(status) => form.set({ status })}
          options={[
            ["available", "Available"],
            ["installed", "Installed"],
            ["disabled", "Disabled"],
          ]}
        />
        <ShowAsCode http="POST /api/ops/mcp-servers" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Add" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
