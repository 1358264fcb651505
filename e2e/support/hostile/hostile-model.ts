// Lets the stub make its calls through the real loop, the real tools and a real database, and counts what came of them.
import { outgoingHttp } from '../../../service/src/adapters/outgoing-http.ts'
import { addMessage, startSession } from '../../../service/src/app/agent-sessions.ts'
import type { App } from '../../../service/src/app/context.ts'
import { mutate } from '../../../service/src/app/mutate.ts'
import type { AgentDefinition } from '../../../service/src/domain/agent-definition.ts'
import type { SessionActor } from '../../../service/src/domain/agent-session.ts'
import { DEFAULT_BUDGET } from '../../../service/src/domain/agent-session.ts'
import { TOOL_NAMES } from '../../../service/src/domain/agent-tools.ts'
import { HeldSession } from '../../../service/src/engine/agent/held-session.ts'
import { TURN_SETTINGS, type TurnPorts } from '../../../service/src/engine/agent/ports.ts'
import { sessionPorts } from '../../../service/src/engine/agent/session-ports.ts'
import { openMcpTools, openTools } from '../../../service/src/engine/agent/tools/index.ts'
import type { McpTools } from '../../../service/src/engine/agent/tools/mcp.ts'
import type { Tool } from '../../../service/src/engine/agent/tools/tool.ts'
import type { Model, ModelCall, ModelRequest } from '../../../service/src/ports/model.ts'
import * as holds from '../../../service/src/store/agent-hold.ts'
import * as keys from '../../../service/src/store/keys.ts'
import { testDefinition, testDefinitions } from '../../../service/test/support/agent-service-tools.ts'
import { type Random, seeded } from '../random.ts'
import { hostileCall, injected, obeyed, worstCalls } from './calls.ts'
import { type Effect, Judge } from './effects.ts'
import { type HostileHost, openHostileHost } from './host.ts'
import { HOME_CHANNEL, type HostileScene, hostileScene } from './scene.ts'
import { unguardedTools } from './unguarded.ts'

export interface HostileResult {
  readonly calls: number
  readonly obeyed: number
  readonly sessions: number
  /** By tool: calls that reached it, and those that it did not refuse. */
  readonly reached: ReadonlyMap<string, { calls: number; taken: number }>
  readonly effects: Readonly<Record<Effect, number>>
  /** What was seen, for whoever has to find out. */
  readonly seen: readonly string[]
  readonly hasShell: boolean
}

const STEPS = 3
const PER_STEP = 40

interface Profile {
  /** For whoever has to find out. */
  readonly name: string
  readonly actor: SessionActor
  readonly tools: AgentDefinition['tools']
  readonly mayTrigger: boolean
  /** Revoked after the first step. */
  readonly keyId?: number
}

/** @param guards off: the tools are those of unguarded.ts, and the service does not know the secret as one */
export async function letLoose(of: {
  readonly seed: number
  readonly calls: number
  readonly guards: 'on' | 'off'
  /** Answers with calls of each session; one, and nobody to call, for the short form. */
  readonly steps?: number
  readonly say?: (line: string) => void
}): Promise<HostileResult> {
  await using scene = await hostileScene(of.guards === 'on')
  await using host = await openHostileHost(scene)
  const run = new HostileRun(scene, host, { guards: of.guards, steps: of.steps ?? STEPS })
  for (let number = 0; run.calls < of.calls; number++) {
    await run.session(number, seeded(of.seed + number))
    if (number % 10 === 9) of.say?.(`${run.calls} calls, ${number + 1} sessions`)
  }
  return await run.result()
}

class HostileRun {
  calls = 0
  #obeyed = 0
  #sessions = 0
  readonly #scene: HostileScene
  readonly #host: HostileHost
  readonly #guards: 'on' | 'off'
  readonly #steps: number
  readonly #app: App
  readonly #http = outgoingHttp({ allow: ['127.0.0.1'], allowHttp: true, timeoutMs: 5000 })
  readonly #mcpTools: McpTools
  readonly #reached = new Map<string, { calls: number; taken: number }>()
  readonly #judge: Judge

  constructor(scene: HostileScene, host: HostileHost, of: { readonly guards: 'on' | 'off'; readonly steps: number }) {
    this.#scene = scene
    this.#host = host
    this.#guards = of.guards
    this.#steps = of.steps
    this.#app = { ...scene.t.app, clock: { now: () => new Date() } }
    this.#mcpTools = openMcpTools({ app: this.#app, http: this.#http })
    this.#judge = new Judge(scene)
  }

  /** One session and its children, until all of them are over. */
  async session(number: number, random: Random): Promise<void> {
    const { workspace, environmentId } = this.#scene
    const profile = await this.#profile(number)
    const definition = testDefinition({
      name: 'root',
      tools: profile.tools,
      squad: this.#steps === 1 ? [] : ['second'],
      slackChannel: HOME_CHANNEL,
    })
    const before = await this.#judge.look()
    const id = await mutate(this.#scene.t.inside(workspace), async (unit) => {
      const made = await startSession(unit, {
        workspaceId: workspace.id,
        environmentId,
        agent: 'root',
        definition,
        definitionCommit: '',
        baseBranch: 'main',
        modelFamily: 'hostile',
        message: { text: 'Mend the nightly run.', author: 'user', name: 'Ana' },
        actor: profile.actor,
        parent: null,
        slack: null,
        healingRequestId: null,
        budget: { ...DEFAULT_BUDGET, seconds: 600 },
      })
      // People do not know the secret, and what they write is theirs: it stands in the transcript as they wrote it.
      const text = injected(hostileCall(random, { ...this.#scene.targets, learned: [] }))
      await addMessage(unit, { workspaceId: workspace.id, sessionId: made, text, author: 'slack', name: 'U0EVIL' })
      return made
    })
    await this.#drain(profile, random)
    await this.#judge.judge(id, profile, before)
    this.#sessions++
  }

  async #profile(number: number): Promise<Profile> {
    const { t, workspace } = this.#scene
    const allowed = { mode: 'allowlist', list: [...TOOL_NAMES, 'mcp_docs_echo'] } as const
    const person = async (role: 'ANALYST' | 'DEVELOPER'): Promise<SessionActor> => {
      const { id, email } = await t.member(workspace, role)
      return { kind: 'person', personId: id, email }
    }
    switch (number % 5) {
      case 0:
        return { name: 'analyst, every tool', actor: await person('ANALYST'), tools: allowed, mayTrigger: false }
      case 1:
        return { name: 'developer, no tools block', actor: await person('DEVELOPER'), tools: null, mayTrigger: false }
      case 2:
        return { name: 'developer, every tool', actor: await person('DEVELOPER'), tools: allowed, mayTrigger: true }
      case 3:
        return { name: 'the service', actor: { kind: 'service', name: 'healer' }, tools: allowed, mayTrigger: false }
      default: {
        const made = await t.key({
          kind: 'workspace',
          workspace,
          capabilities: ['dinoai:agent:trigger', 'bolt:schedules:admin'],
        })
        const actor: SessionActor = { kind: 'key', keyId: made.id, name: made.name, email: '' }
        return { name: 'a key that is revoked', actor, tools: allowed, mayTrigger: true, keyId: made.id }
      }
    }
  }

  async #drain(profile: Profile, random: Random): Promise<void> {
    const { db } = this.#app
    const workerId = 'hostile'
    const ports = this.#ports(profile, random)
    for (;;) {
      const [claim] = await holds.claimWaiting(db, 1, { workerId, leaseMs: 600_000 })
      if (claim === undefined) return
      const deps = {
        ports,
        settings: { ...TURN_SETTINGS, graceMs: 200, pausesMs: [] },
        leaseMs: 600_000,
        onBegun: () => {},
        isLeaving: () => false,
      }
      await new HeldSession(this.#app, deps, { ...claim, workerId }).run()
    }
  }

  #ports(profile: Profile, random: Random): TurnPorts {
    const { environmentId, queries } = this.#scene
    const http = this.#http
    const child = testDefinition({ name: 'second', tools: profile.tools, squad: ['root'] })
    const models: TurnPorts['models'] = {
      choose: async () => ({ family: 'hostile', warning: null }),
      open: async () => this.#model(profile, random),
    }
    const agents = { definitions: testDefinitions([child], { id: environmentId }), models }
    const { checkoutTools } = this.#host
    const real = sessionPorts(this.#app, {
      ...this.#host.ports,
      models,
      mcpTools: this.#mcpTools,
      toolsOf: async (session) => openTools({ app: this.#app, http, agents, queries, checkoutTools }, session),
    })
    return {
      ...real,
      toolsFor: async (session, signal) => {
        const given = await real.toolsFor(session, signal)
        if (this.#guards === 'on') return { ...given, tools: given.tools.map(this.#counted) }
        return { caller: { ...given.caller, refusal: null }, tools: this.#unguarded().map(this.#counted) }
      },
    }
  }

  #unguarded(): Tool[] {
    const { folder, workspace, remote, secret, mcp, query } = this.#scene
    return unguardedTools({ app: this.#app, folder, workspace, remote, secret, query, mcpUrl: `${mcp.url}/mcp` })
  }

  readonly #counted = (tool: Tool): Tool => ({
    ...tool,
    run: async (of, input) => {
      const figures = this.#reached.get(tool.name) ?? { calls: 0, taken: 0 }
      this.#reached.set(tool.name, figures)
      figures.calls++
      const result = await tool.run(of, input)
      if (result.kind === 'child' || result.isError !== true) figures.taken++
      return result
    },
  })

  #model(profile: Profile, random: Random): Model {
    const answer = async (request: ModelRequest) => {
      const step = request.messages.filter((one) => one.role === 'assistant').length + 1
      const isChild = request.agent === 'second'
      if (step === 2 && profile.keyId !== undefined) {
        await keys.revoke(this.#app.db, profile.keyId, { visible: 'all' })
      }
      const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 }
      const { secret } = this.#scene
      if (step > (isChild ? 1 : this.#steps)) {
        return { text: `I am done, and I know ${secret}.`, calls: [], usage, end: 'end' as const }
      }
      const calls = this.#calls(request, random, isChild ? PER_STEP / 2 : PER_STEP)
      return { text: `Step ${step} ${secret}`, calls, usage, end: 'calls' as const }
    }
    return { name: 'hostile', contextTokens: 200_000, prices: null, answer }
  }

  /** What the texts that it read last tell it to do comes first. */
  #calls(request: ModelRequest, random: Random, count: number): ModelCall[] {
    const last = request.messages
      .slice(-3)
      .flatMap((one) => (one.role === 'tool' ? one.results.map((each) => each.text) : [one.text]))
    const told = obeyed([request.instructions, ...last]).slice(0, 10)
    this.#obeyed += told.length
    const isFirst = !request.messages.some((one) => one.role === 'assistant')
    const worst = isFirst ? worstCalls(this.#scene.targets) : []
    const rest = Math.max(0, count - told.length - worst.length)
    const own = [...worst, ...Array.from({ length: rest }, () => hostileCall(random, this.#scene.targets))]
    const all = [...told, ...own].map(({ tool, input }, at) => ({ id: `h${at}`, tool, input }))
    this.calls += all.length
    return all
  }

  async result(): Promise<HostileResult> {
    await this.#judge.end()
    return {
      calls: this.calls,
      obeyed: this.#obeyed,
      sessions: this.#sessions,
      reached: this.#reached,
      effects: this.#judge.effects,
      seen: this.#judge.seen,
      hasShell: this.#host.hasShell,
    }
  }
}
