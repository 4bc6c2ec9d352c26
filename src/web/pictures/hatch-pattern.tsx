/** A hatch for what is missing, as a pattern of an SVG. `fill="url(#<id>)"` uses it. */
export function HatchPattern({ id }: { id: string }) {
  return (
    <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="6" height="6" class="hatch-ground" />
      <rect width="2" height="6" class="hatch-line" />
    </pattern>
  );
}
