import type { Context } from '../../../app/context.ts'
import * as templates from '../../../app/message-templates.ts'
import { PLACEHOLDERS } from '../../../domain/messages/template.ts'
import { presentMessageTemplate } from '../present/message-template.ts'
import type {
  MessageTemplates,
  MutationCreateMessageTemplateArgs,
  MutationDeleteMessageTemplateArgs,
  MutationUpdateMessageTemplateArgs,
  Ok,
  SavedMessageTemplate,
} from '../wire-types.ts'

export const messageTemplateResolvers = {
  async listMessageTemplates(ctx: Context): Promise<MessageTemplates> {
    const all = await templates.listMessageTemplates(ctx)
    return { ok: true, templates: all.map(presentMessageTemplate), placeholders: Object.keys(PLACEHOLDERS) }
  },
  async createMessageTemplate(ctx: Context, args: MutationCreateMessageTemplateArgs): Promise<SavedMessageTemplate> {
    return { ok: true, ...(await templates.createMessageTemplate(ctx, args)) }
  },
  async updateMessageTemplate(ctx: Context, args: MutationUpdateMessageTemplateArgs): Promise<Ok> {
    const { slug, name, subject, text } = args
    await templates.updateMessageTemplate(ctx, slug, { name, subject, text })
    return { ok: true }
  },
  async deleteMessageTemplate(ctx: Context, args: MutationDeleteMessageTemplateArgs): Promise<Ok> {
    await templates.deleteMessageTemplate(ctx, args.slug)
    return { ok: true }
  },
}
