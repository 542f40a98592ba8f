export interface MeasuredRun {
  /** The command line after `npm run bench --`. */
  args: readonly string[]
  text: string
  at: Date
}

/** A section of results.md: when, by which command, and what was printed. */
export function resultsEntry({ args, text, at }: MeasuredRun): string {
  const command = ['npm run bench --', ...args.filter(argument => argument !== '--write')].join(' ')
  const date = at.toISOString().slice(0, 16).replace('T', ' ')
  return `\n## ${date} UTC: \`${command}\`\n\n\`\`\`\n${text}\n\`\`\`\n`
}
