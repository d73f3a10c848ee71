"""What agents get: our MCP server, hooks, skills, and connecting them to each agent."""
