// The providers' packages, each loaded when it is first used. Everything that they would take from the environment of
// the service (keys, addresses) is given to them here: a workspace reaches models with its own keys alone.
import type { LanguageModel } from 'ai'
import type { ModelAccess, ModelProvider } from '../../domain/model-family.ts'
import type { Fetch } from '../outgoing-fetch.ts'

/** An object, never the name of a model: a name would be looked up at a gateway on the internet. */
export type ModelObject = Exclude<LanguageModel, string>

type ProviderOptions = Record<string, Record<string, string | boolean | { type: string }>>

interface Provider {
  /** Of Bedrock it depends on the region. */
  readonly address: string
  /** What every call says beside the question. */
  readonly options: ProviderOptions
  load(access: ModelAccess, address: string, fetch: Fetch): Promise<ModelObject>
}

const keyOf = (access: ModelAccess): string => access.secrets.apiKey ?? ''

const PROVIDERS: Readonly<Record<ModelProvider, Provider>> = {
  anthropic: {
    address: 'https://api.anthropic.com/v1',
    // Each step asks with everything that the one before had: what was read once is read at a tenth of its price. The
    // arguments of a call come when they are whole, checked there: nobody here reads them before.
    options: { anthropic: { cacheControl: { type: 'ephemeral' }, toolStreaming: false } },
    load: async (access, baseURL, fetch) => {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ apiKey: keyOf(access), baseURL, fetch })(access.model)
    },
  },
  openai: {
    address: 'https://api.openai.com/v1',
    // What was asked is not kept there: the next question brings all of it.
    options: { openai: { store: false } },
    load: async (access, baseURL, fetch) => {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ apiKey: keyOf(access), baseURL, fetch })(access.model)
    },
  },
  google: {
    address: 'https://generativelanguage.googleapis.com/v1beta',
    options: {},
    load: async (access, baseURL, fetch) => {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ apiKey: keyOf(access), baseURL, fetch })(access.model)
    },
  },
  bedrock: {
    address: '',
    options: {},
    load: async (access, baseURL, fetch) => {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
      const { accessKeyId = '', secretAccessKey = '', sessionToken } = access.secrets
      const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
      // An empty key is not looked up elsewhere: requests are signed then.
      return createAmazonBedrock({ apiKey: keyOf(access), ...credentials, region: access.region, baseURL, fetch })(
        access.model,
      )
    },
  },
  openai_compatible: {
    address: '',
    options: {},
    load: async (access, baseURL, fetch) => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const apiKey = keyOf(access)
      const key = apiKey === '' ? {} : { apiKey }
      return createOpenAICompatible({ name: 'model', baseURL, ...key, includeUsage: true, fetch })(access.model)
    },
  },
}

const addressOf = (access: ModelAccess): string => {
  if (access.address !== '') return access.address.replace(/\/+$/, '')
  if (access.provider !== 'bedrock') return PROVIDERS[access.provider].address
  const suffix = access.region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return `https://bedrock-runtime.${access.region}.${suffix}`
}

export const loadModel = (access: ModelAccess, fetch: Fetch): Promise<ModelObject> =>
  PROVIDERS[access.provider].load(access, addressOf(access), fetch)

export const optionsOf = (provider: ModelProvider): ProviderOptions => PROVIDERS[provider].options
