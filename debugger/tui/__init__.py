"""The screens: the only place that knows Textual. They draw view models; queries run in worker threads."""
