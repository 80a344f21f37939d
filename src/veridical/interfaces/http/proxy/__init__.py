"""Verifying proxy: chat completions of any OpenAI-compatible service, with a verdict."""

from veridical.interfaces.http.proxy.router import build_proxy_router

__all__ = ["build_proxy_router"]
