// The words of a workspace in place of the built-in ones. Schedules name them by slug; one that is gone is no fault, the
// built-in words are sent then.
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import type { NoticeChannel } from '../domain/messages/notice.ts'
import { NOTICE_CHANNELS } from '../domain/messages/notice.ts'
import { parseTemplateSubject, parseTemplateText } from '../domain/messages/template.ts'
import { isSlug, slugBase } from '../domain/slug.ts'
import { parseName, quoted } from '../domain/text.ts'
import type { MessageTemplate } from '../store/message-templates.ts'
import * as templates from '../store/message-templates.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export type { MessageTemplate } from '../store/message-templates.ts'

const MOST_TEMPLATES = 200

export const listMessageTemplates = (ctx: Context): Promise<MessageTemplate[]> =>
  templates.list(ctx.db, workspaceOf(ctx).id)

export interface NewMessageTemplate {
  readonly channel: string
  readonly name: string
  /** From the name when it is left out. */
  readonly slug?: string | null | undefined
  readonly subject?: string | null | undefined
  readonly text: string
}

export async function createMessageTemplate(ctx: Context, input: NewMessageTemplate): Promise<{ slug: string }> {
  const workspace = workspaceOf(ctx)
  const channel = parseChannel(input.channel)
  const name = parseName(input.name)
  const values = {
    slug: parseSlug(input.slug ?? slugBase(name, 60, 'template')),
    name,
    channel,
    subject: parseSubject(channel, input.subject ?? ''),
    text: parseTemplateText(input.text),
  }
  return await mutate(ctx, async (unit) => {
    if ((await templates.count(unit.db, workspace.id)) >= MOST_TEMPLATES)
      throw conflict(`A workspace has at most ${MOST_TEMPLATES} message templates: delete one first.`)
    if (!(await templates.insert(unit.db, workspace.id, values)))
      throw conflict(
        `slug: there is a message template ${quoted(values.slug)} already. Update it, or give another slug.`,
      )
    unit.record('message_template_created', { slug: values.slug, name, channel })
    return { slug: values.slug }
  })
}

export interface MessageTemplateChanges {
  readonly name?: string | null | undefined
  /** Empty: the built-in one. */
  readonly subject?: string | null | undefined
  readonly text?: string | null | undefined
}

/** What is left out or null stays as it is. */
export async function updateMessageTemplate(ctx: Context, slug: string, input: MessageTemplateChanges): Promise<void> {
  await mutate(ctx, async (unit) => {
    const old = await lock(ctx, unit, slug)
    const { name, subject, text } = input
    await templates.update(unit.db, workspaceOf(ctx).id, slug, {
      name: name == null ? old.name : parseName(name),
      subject: subject == null ? old.subject : parseSubject(old.channel, subject),
      text: text == null ? old.text : parseTemplateText(text),
    })
    const fields = Object.entries(input).flatMap(([field, value]) => (value == null ? [] : [field]))
    unit.record('message_template_updated', { slug, fields })
  })
}

export async function deleteMessageTemplate(ctx: Context, slug: string): Promise<void> {
  await mutate(ctx, async (unit) => {
    const { name } = await lock(ctx, unit, slug)
    await templates.remove(unit.db, workspaceOf(ctx).id, slug)
    unit.record('message_template_deleted', { slug, name })
  })
}

async function lock(ctx: Context, unit: Unit, slug: string): Promise<MessageTemplate> {
  const found = await templates.lock(unit.db, workspaceOf(ctx).id, slug)
  if (found === null) throw notFound(`No message template ${quoted(slug)} in this workspace.`)
  return found
}

function parseChannel(text: string): NoticeChannel {
  const wanted = text.trim().toLowerCase()
  const channel = NOTICE_CHANNELS.find((one) => one === wanted)
  if (channel === undefined) throw invalidInput(`channel: ${quoted(text)} is not one of ${NOTICE_CHANNELS.join(', ')}.`)
  return channel
}

function parseSlug(text: string): string {
  if (!isSlug(text))
    throw invalidInput('slug: lower-case letters and digits in groups joined by single hyphens, at most 80 characters.')
  return text
}

function parseSubject(channel: NoticeChannel, text: string): string {
  if (channel !== 'email' && text.trim() !== '') throw invalidInput('subject: only mail has one.')
  return parseTemplateSubject(text)
}
