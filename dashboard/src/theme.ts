import { type CSSVariablesResolver, createTheme } from '@mantine/core'

/** The nonce that the content security policy of this page allows for style elements. */
export const STYLE_NONCE =
  document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''

/** Shades 7 and 3 are the action colors of `design/tokens.css` in light and dark mode. */
const BRAND = [
  ...(['#eaf6f0', '#d3ecdf', '#a9dcc4', '#5cc9a0', '#3aac84'] as const),
  ...(['#1f906b', '#127a5a', '#0b6b4f', '#08523d', '#06382a'] as const),
] as const

/** Both kinds of pages look alike: Mantine takes its values from the design tokens. */
export const theme = createTheme({
  colors: { brand: BRAND },
  primaryColor: 'brand',
  primaryShade: { light: 7, dark: 3 },
  autoContrast: true,
  luminanceThreshold: 0.4,
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  headings: { fontFamily: 'var(--font-text)', fontWeight: '650' },
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
})

const TOKENS = {
  '--mantine-color-body': 'var(--color-ground)',
  '--mantine-color-text': 'var(--color-text)',
  '--mantine-color-dimmed': 'var(--color-text-quiet)',
  '--mantine-color-anchor': 'var(--color-link)',
  '--mantine-color-error': 'var(--color-danger)',
  '--mantine-color-placeholder': 'var(--color-text-quiet)',
  '--mantine-color-default-border': 'var(--color-line-control)',
  '--mantine-color-default': 'var(--color-surface)',
  '--mantine-color-default-hover': 'var(--color-surface-quiet)',
  '--mantine-color-default-color': 'var(--color-text)',
}

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: TOKENS,
  dark: TOKENS,
})
