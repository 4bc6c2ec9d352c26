export function Logo() {
  return (
    <span class="logo">
      <svg width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
        <rect class="logo-ground" width="32" height="32" rx="7" />
        <path class="logo-line" d="M5 19h5l3-10 5 15 3.5-9H27" />
      </svg>
      Wattline
    </span>
  );
}
