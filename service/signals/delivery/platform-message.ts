import type { StoredDelivery } from './delivery-store.ts'

/** The platform's last error as a sentence, with its code; empty when there was none. */
export function platformMessage({ lastError }: Pick<StoredDelivery, 'lastError'>): string {
  if (!lastError) return ''
  const code = lastError.code === null ? '' : `Code ${formatCode(lastError)}: `
  const message = toSentence(lastError.user_message || lastError.message)
  return message === '' ? '' : `${code}${message}`
}

function formatCode({ code, subcode }: { code: number | null; subcode: number | null }): string {
  return subcode === null ? String(code) : `${code}/${subcode}`
}

/** Texts of the platform come with or without a period, in any case and any language. */
export function toSentence(text: string): string {
  const trimmed = text.trim().replace(/[.\s]+$/, '')
  if (trimmed === '') return ''
  const end = /[!?…。！？]$/.test(trimmed) ? '' : '.'
  return `${trimmed.slice(0, 1).toUpperCase()}${trimmed.slice(1)}${end}`
}
