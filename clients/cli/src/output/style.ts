import { styleText } from 'node:util'
import { isMember } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { CliHost, Output } from '../host.ts'

export type Color = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Colors a text, or returns it as it is. */
export type Style = (color: Color, text: string) => string

interface ColorOptions {
  /** False: the option --no-color. */
  color?: boolean
}

/** NO_COLOR (no-color.org), a dumb terminal and a pipe get none; FORCE_COLOR overrules a pipe. */
export function createStyle(
  output: Output,
  { environment }: Pick<CliHost, 'environment'>,
  { color = true }: ColorOptions,
): Style {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment
  const isForced = Boolean(FORCE_COLOR) && FORCE_COLOR !== '0'
  const isCapable = isForced || (output.isTerminal && TERM !== 'dumb' && FORCE_COLOR !== '0')
  if (!color || NO_COLOR || !isCapable) return (_color, text) => text
  return (name, text) => styleText(name, text, { validateStream: false })
}

/** Control characters could act on the terminal, and others turn the order of a line around. */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Text that came from outside, on one line. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, '\ufffd')
}

const STATUS_COLORS: Record<DeliveryStatus, Color> = {
  queued: 'yellow',
  sent: 'yellow',
  retrying: 'yellow',
  accepted: 'green',
  'failed:auth': 'red',
  'failed:permanent': 'red',
  'failed:unknown': 'red',
  expired: 'dim',
  'skipped:consent': 'dim',
  'skipped:no_destination': 'dim',
  'skipped:duplicate': 'dim',
  'skipped:not_selected': 'dim',
}

/** The color of a delivery status; one of a later version has that of waiting. */
export function colorOfStatus(status: string): Color {
  return isMember(DELIVERY_STATUSES, status) ? STATUS_COLORS[status] : 'yellow'
}
