/** A part that fails to draw says so in its place instead of taking the page with it. */

import { Component, type ComponentChildren } from "preact";

interface Props {
  what: string;
  children: ComponentChildren;
}

export class ErrorBoundary extends Component<Props, { message: string | null }> {
  override state = { message: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ message: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (this.state.message === null) return <>{this.props.children}</>;
    return (
      <div class="state state-failure" role="alert">
        <p>
          <strong>{this.props.what} could not be drawn.</strong> {this.state.message}
        </p>
        <button type="button" class="button" onClick={() => this.setState({ message: null })}>
          Try again
        </button>
      </div>
    );
  }
}
