// What a key may hold. The label is the word of the interface: `apiKeyIdentity` returns it and refusals name it.
export const CAPABILITY_LABELS = {
  'bolt:schedules:admin': 'Bolt Schedules Admin',
  'bolt:schedules:read': 'Bolt Schedules Metadata Viewer',
  'users:admin': 'User Management Admin',
  'users:read': 'User Metadata Viewer',
  'workspaces:read': 'Workspace Metadata Viewer',
  'audit:read': 'Audit Logs viewer',
  'dinoai:agent:trigger': 'Agent Admin',
  'dinoai:agent:read': 'Agent Viewer',
} as const

export type Capability = keyof typeof CAPABILITY_LABELS

export const CAPABILITIES = Object.keys(CAPABILITY_LABELS) as readonly Capability[]

export const isCapability = (word: string): word is Capability => Object.hasOwn(CAPABILITY_LABELS, word)

/** "Bolt Schedules Admin or Bolt Schedules Metadata Viewer", for a refusal that says what is missing. */
export const labelsOf = (capabilities: readonly Capability[]): string =>
  capabilities.map((one) => CAPABILITY_LABELS[one]).join(' or ')
