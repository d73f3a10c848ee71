"""Every setting there is, as data: the window, the command line, the README and validation are made from it."""

from engine.settings.setting import Group, Setting

GROUPS_ZH: dict[Group, str] = {
    "General": "常规",
    "Recording": "记录",
    "Agents": "智能体",
    "Models": "模型",
    "Shelves": "书架",
    "Privacy": "隐私",
    "Recall": "回忆",
    "Budget": "预算",
    "Notifications": "通知",
    "Advanced": "高级",
}
GROUPS: tuple[Group, ...] = tuple(GROUPS_ZH)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "enabled", "bool", True, "General",
        "Give agents a memory", "为智能体提供记忆",
        "Switches recording and summarising off as a whole.", "关闭后既不记录也不总结。",
        live=False,
    ),
    Setting(
        "ui.language", "enum", "system", "General",
        "Language", "语言",
        "Language of the menu and the windows.", "菜单和窗口的语言。",
        choices=("system", "en", "zh_CN"),
    ),
    Setting(
        "ui.colorScheme", "enum", "system", "General",
        "Colours", "外观颜色",
        "Light or dark windows, or as the system has them.", "浅色或深色窗口，或跟随系统。",
        choices=("system", "light", "dark"),
    ),
    Setting(
        "notifications.enabled", "bool", True, "Notifications",
        "Show notifications", "显示通知",
        "Tells you when something waits for you. Everything also stands in the windows.",
        "有事项待处理时提醒你。所有内容也会显示在窗口中。",
    ),
    Setting(
        "notifications.failures", "bool", True, "Notifications",
        "When a task failed for good", "任务最终失败时",
        "It waits in Review until you decide.", "任务会在“待处理”中等待你的决定。",
    ),
    Setting(
        "notifications.problems", "bool", True, "Notifications",
        "When something does not work", "出现故障时",
        "Once for each cause: a shelf, a model, a disk, a setting.", "每个原因只提醒一次：书架、模型、磁盘或设置。",
    ),
    Setting(
        "notifications.outcomes", "bool", True, "Notifications",
        "When what you asked for is done", "你请求的操作完成时",
        "Only while no window of the companion is open.", "仅在本程序没有打开窗口时提醒。",
    ),
    Setting(
        "sources.dsh", "bool", True, "Agents",
        "Record DSH", "记录 DSH",
        "Off: nothing said in DSH is recorded, not later either.", "关闭后不记录在 DSH 中说的内容，以后也不会补记。",
        live=False,
    ),
    Setting(
        "sources.claude", "bool", True, "Agents",
        "Record Claude Code", "记录 Claude Code",
        "Only what is said from then on, when it is first found after an update or switched on. Off: nothing of it is"
        " recorded, not later either.",
        "更新后首次发现或重新打开时，只记录此后所说的内容。关闭期间的内容不会被记录，以后也不会补记。",
        live=False,
    ),
    Setting(
        "sources.codex", "bool", True, "Agents",
        "Record Codex", "记录 Codex",
        "Only what is said from then on, when it is first found after an update or switched on. Off: nothing of it is"
        " recorded, not later either.",
        "更新后首次发现或重新打开时，只记录此后所说的内容。关闭期间的内容不会被记录，以后也不会补记。",
        live=False,
    ),
    Setting(
        "sources.dshHome", "str", "", "Agents",
        "Folder of DSH", "DSH 文件夹",
        "Where DSH keeps its conversations. Empty: found automatically (DSH_HOME, else .dsh in your home folder).",
        "DSH 保存会话的位置。留空则自动查找（DSH_HOME，否则为用户主目录下的 .dsh）。",
        live=False,
    ),
    Setting(
        "sources.claudeHome", "str", "", "Agents",
        "Folder of Claude Code", "Claude Code 文件夹",
        "Where Claude Code keeps its conversations; several are separated as in PATH. Empty: found automatically"
        " (CLAUDE_CONFIG_DIR, else .claude in your home folder).",
        "Claude Code 保存会话的位置；多个文件夹的分隔方式与 PATH 相同。"
        "留空则自动查找（CLAUDE_CONFIG_DIR，否则为用户主目录下的 .claude）。",
        live=False,
    ),
    Setting(
        "sources.codexHome", "str", "", "Agents",
        "Folder of Codex", "Codex 文件夹",
        "Where Codex keeps its conversations; several are separated as in PATH. Empty: found automatically"
        " (CODEX_HOME, else .codex in your home folder).",
        "Codex 保存会话的位置；多个文件夹的分隔方式与 PATH 相同。"
        "留空则自动查找（CODEX_HOME，否则为用户主目录下的 .codex）。",
        live=False,
    ),
    Setting(
        "sources.notRecorded", "list[str]", [], "Agents",
        "Projects that are not recorded", "不记录的项目",
        "What is said in these folders and below them is recorded from no agent; taking a folder off the list does not"
        " record it later.",
        "在这些文件夹及其子文件夹中所说的内容，任何智能体都不记录；从列表中移除文件夹后也不会补记。",
        example="/home/alex/private",
    ),
    Setting(
        "consolidation.enabled", "bool", True, "Models",
        "Summarise conversations", "总结会话",
        "Makes summaries and lessons from recorded conversations, with the models below.",
        "使用下面的模型，从已记录的会话生成摘要和经验。",
    ),
    Setting(
        "consolidation.models", "routes", [], "Models",
        "Models, best first", "模型（优先者在前）",
        "Each failed attempt goes on to the next one. Conversation text, with secrets hidden, is sent to them."
        " Empty: built-in (no model), which sends nothing. In the file an entry may also have baseUrl, api (openai or"
        " anthropic), proxy, and limits of its own such as maxMoneyPerDay.",
        "每次失败后尝试下一个。会话文本（已隐藏机密）会发送给它们。留空则使用内置提取（无需模型），不发送任何内容。"
        "在文件中，每项还可设置 baseUrl、api（openai 或 anthropic）、proxy 以及自己的限额，例如 maxMoneyPerDay。",
    ),
    Setting(
        "consolidation.checkEveryTurns", "int", 5, "Models",
        "Turns between summaries", "两次摘要之间的轮数",
        "A conversation gets its next summary after at least this many turns.",
        "一个会话至少经过这么多轮后才生成下一个摘要。",
        low=1,
    ),
    Setting(
        "consolidation.minNewTokens", "int", 3000, "Models",
        "New text before a summary (tokens)", "生成摘要所需的新文本（token）",
        "Less new text than this gets no summary yet.", "新文本少于此数时暂不生成摘要。",
        low=500,
    ),
    Setting(
        "consolidation.maxWorkUnitsPerRun", "int", 3, "Models",
        "Lessons per summary, at most", "每个摘要的经验数上限",
        "How many lessons one summary may bring.", "一个摘要最多产生多少条经验。",
        low=1, high=10,
    ),
    Setting(
        "consolidation.maxInputTokens", "int", 16000, "Models",
        "Text sent per summary (tokens)", "每个摘要发送的文本（token）",
        "Longer stretches are summarised in several calls, oldest part first.",
        "更长的内容分多次总结，从最早的部分开始。",
        low=1000,
    ),
    Setting(
        "consolidation.maxOutputTokens", "int", 2000, "Models",
        "Length of an answer (tokens)", "回答长度（token）",
        "Limit for one answer of a model. Thinking gets 4000 more.", "模型单次回答的上限。思考另加 4000。",
        low=200,
    ),
    Setting(
        "consolidation.timeoutMs", "int", 120000, "Models",
        "Wait for a model (ms)", "等待模型的时间（毫秒）",
        "A call that takes longer is stopped and tried again.", "超过此时间的调用会被中止并重试。",
        low=1000, high=3_600_000,
    ),
    Setting(
        "recall.enabled", "bool", True, "Recall",
        "Let agents read the memory", "允许智能体读取记忆",
        "Connected agents may ask what is remembered of their project.", "已连接的智能体可以查询其项目的记忆。",
    ),
    Setting(
        "recall.brief", "bool", True, "Recall",
        "Brief agents at the start", "会话开始时提供简报",
        "Rules, taboos and where the last conversations stopped are given at the start of each conversation.",
        "每次会话开始时提供规则、禁忌以及之前会话的进展。",
    ),
    Setting(
        "recall.turn", "bool", True, "Recall",
        "Remind agents at each message", "每条消息时提醒智能体",
        "With each of your messages, up to five memories about it are given to the agent.",
        "你每发送一条消息，最多向智能体提供五条相关记忆。",
    ),
    Setting(
        "recall.agents", "list[str]", ["claude", "codex", "dsh"], "Recall",
        "Agents that may read", "可读取的智能体",
        "Names of the agents that are answered: claude, codex, dsh.", "会得到回答的智能体名称：claude、codex、dsh。",
        pattern="claude|codex|dsh", example="claude",
    ),
    Setting(
        "budget.maxTokensPerDay", "int", 0, "Budget",
        "Tokens per day, at most", "每天的 token 上限",
        "No call is made that could pass this; summaries wait until the next day. 0: no limit."
        " Models on your own machines are free and under no limit here.",
        "不会发出可能超过此数的调用，摘要等到次日再生成。0 表示不限。你自己机器上的模型免费，不受此限制。",
        low=0,
    ),
    Setting(
        "budget.maxTokensPerHour", "int", 0, "Budget",
        "Tokens per hour, at most", "每小时的 token 上限",
        "As above, for each hour of the clock. 0: no limit.", "同上，按整点小时计。0 表示不限。",
        low=0,
    ),
    Setting(
        "budget.maxCallsPerHour", "int", 0, "Budget",
        "Calls per hour, at most", "每小时的调用次数上限",
        "How often models may be asked in each hour of the clock. 0: no limit.",
        "每个整点小时内最多调用模型多少次。0 表示不限。",
        low=0,
    ),
    Setting(
        "budget.maxMoneyPerDay", "number", 0, "Budget",
        "Money per day, at most", "每天的金额上限",
        "By the prices known here; a model without a known price is not asked while there is such a limit."
        " 0: no limit.",
        "按此处已知的价格计算；设有此限制时，价格未知的模型不会被调用。0 表示不限。",
        low=0,
    ),
    Setting(
        "budget.maxMoneyPerHour", "number", 0, "Budget",
        "Money per hour, at most", "每小时的金额上限",
        "As above, for each hour of the clock. 0: no limit.", "同上，按整点小时计。0 表示不限。",
        low=0,
    ),
    Setting(
        "budget.currency", "enum", "USD", "Budget",
        "Currency of these limits", "以上限额的货币",
        "Prices in the other currency are converted roughly, at 7 CNY for 1 USD.",
        "另一种货币的价格按 1 美元约 7 元人民币粗略换算。",
        choices=("USD", "CNY"),
    ),
    Setting(
        "models.prices", "list[str]", [], "Budget",
        "Your own prices", "自定义价格",
        "For each model: provider/model, then the price of a million tokens of input, of cached input (- where there is"
        " none), and of output, and the currency. They count before the built-in list; 0 - 0 makes a model free.",
        "每个模型依次填写：provider/model、每百万 token 的输入价、缓存输入价（没有则填 -）、输出价和货币。"
        "优先于内置价目；0 - 0 表示免费。",
        pattern=r"\S+/\S.*? +[0-9]+(\.[0-9]+)? +([0-9]+(\.[0-9]+)?|-) +[0-9]+(\.[0-9]+)? +(USD|CNY)",
        example="openai/gpt-5 1.25 0.125 10 USD",
    ),
    Setting(
        "shelf", "str", "default", "Shelves",
        "Shelf", "书架",
        "The shelf that conversations are recorded on.", "会话记录到哪个书架。",
        pattern=r"[^\s\x00-\x1f]+", live=False,
    ),
    Setting(
        "binaries", "list[str]", ["hypatia"], "Shelves",
        "Hypatia program", "Hypatia 程序",
        "Name or full path of the Hypatia program; the first is used. Where there is none, the built-in shelf is."
        " The value built-in always takes the built-in shelf.",
        "Hypatia 程序的名称或完整路径，使用第一项。找不到时使用内置书架。填 built-in 则始终使用内置书架。",
        low=1,
    ),
    Setting(
        "transport", "enum", "auto", "Shelves",
        "How Hypatia is spoken to", "与 Hypatia 通信的方式",
        "mcp: one server that stays; cli: a command for each call, which is slower; auto: the server, and commands"
        " where a Hypatia has none. The built-in shelf always has its server.",
        "mcp：一个常驻服务；cli：每次调用执行一条命令，较慢；auto：使用服务，Hypatia 没有服务时改用命令。"
        "内置书架始终使用其服务。",
        choices=("auto", "mcp", "cli"),
    ),
    Setting(
        "collector.enabled", "bool", True, "Recording",
        "Record conversations", "记录会话",
        "Off: nothing new is recorded; what is on the shelf stays.", "关闭后不再记录新内容，书架上已有的保留。",
    ),
    Setting(
        "collector.maxUserChars", "int", 32000, "Recording",
        "Longest message of yours (characters)", "你的消息的最大长度（字符）",
        "Longer messages are cut when recorded.", "更长的消息在记录时会被截断。",
        low=500,
    ),
    Setting(
        "collector.maxAssistantChars", "int", 8000, "Recording",
        "Longest message of an agent (characters)", "智能体消息的最大长度（字符）",
        "Longer messages are cut when recorded.", "更长的消息在记录时会被截断。",
        low=500,
    ),
    Setting(
        "collector.toolLedger", "bool", False, "Privacy",
        "Record which tools were used", "记录使用了哪些工具",
        "Adds names, outcome and duration of tools to an agent's message; never what they read or wrote.",
        "在智能体的消息中附上工具名称、结果和耗时，绝不包含其读写的内容。",
    ),
    Setting(
        "collector.subagents", "enum", "skip", "Recording",
        "Conversations of subagents", "子智能体的会话",
        "Subagents work for an agent; nothing in them is in your words.", "子智能体为智能体工作，其中没有你的原话。",
        choices=("skip", "log"),
    ),
    Setting(
        "companion.idleCloseMinutes", "int", 30, "Recording",
        "A conversation has ended after (minutes)", "会话视为结束的静默时间（分钟）",
        "After this silence the rest of a conversation is summarised.", "静默这么久之后，总结会话的剩余部分。",
        low=1, high=10_080,
    ),
    Setting(
        "companion.idleCloseMinTokens", "int", 200, "Recording",
        "Rest worth a summary (tokens)", "值得总结的剩余文本（token）",
        "A shorter rest of an ended conversation gets no summary.", "已结束会话的剩余文本少于此数时不生成摘要。",
        low=0,
    ),
    Setting(
        "consolidation.adjudicate", "bool", True, "Advanced",
        "Compare new lessons with older ones", "将新经验与旧经验比较",
        "Asks the model whether a lesson repeats, refines or replaces an older one; repetitions are not stored.",
        "询问模型新经验是否重复、细化或取代旧经验；重复的不保存。",
    ),
    Setting(
        "consolidation.dedupCandidates", "int", 5, "Advanced",
        "Older lessons looked up", "查找的旧经验数",
        "How many near ones are looked up; three at most are compared.", "查找多少条相近的经验；最多比较三条。",
        low=1, high=20,
    ),
    Setting(
        "consolidation.dedupMaxDistance", "number", 0.45, "Advanced",
        "Greatest distance of an older lesson", "旧经验的最大距离",
        "Where the shelf knows meanings: those further away are not compared.", "书架支持语义时，更远的经验不作比较。",
        low=0,
    ),
    Setting(
        "consolidation.cascade.enabled", "bool", True, "Advanced",
        "Archive older summaries", "归档较早的摘要",
        "Condenses many summaries of a project into one.", "将一个项目的多个摘要浓缩为一个。",
    ),
    Setting(
        "consolidation.cascade.batchSize", "int", 16, "Advanced",
        "Summaries per archive", "每次归档的摘要数",
        "How many summaries are condensed into one.", "多少个摘要浓缩为一个。",
        low=2, high=64,
    ),
    Setting(
        "consolidation.cascade.maxBatchesPerRun", "int", 4, "Advanced",
        "Archives per run, at most", "每轮归档次数上限",
        "Limits the model calls of one run; the rest follows later.", "限制一轮中的模型调用次数，其余稍后继续。",
        low=1, high=64,
    ),
    Setting(
        "queue.concurrency", "int", 1, "Advanced",
        "Tasks at a time", "同时进行的任务数",
        "Conversations worked on at the same time.", "同时处理的会话数。",
        low=1, high=8,
    ),
    Setting(
        "queue.maxAttempts", "int", 3, "Advanced",
        "Attempts per task", "每个任务的尝试次数",
        "After this many failures a task waits for you in Review.", "失败这么多次后，任务进入“待处理”。",
        low=1, high=10,
    ),
    Setting(
        "queue.retryDelayMs", "int", 5000, "Advanced",
        "Wait before trying again (ms)", "重试前的等待（毫秒）",
        "Time between two attempts of a task.", "同一任务两次尝试之间的时间。",
        low=100,
    ),
    Setting(
        "queue.flushWindowMs", "int", 120000, "Advanced",
        "Record a long turn every (ms)", "长轮次的记录间隔（毫秒）",
        "A turn that goes on is recorded in parts of this length.", "持续进行的一轮按此时长分段记录。",
        low=0, high=600_000,
    ),
    Setting(
        "housekeeping.reconcileOnStartup", "bool", True, "Advanced",
        "Record again what a shelf lost", "重新记录书架丢失的内容",
        "At the start, conversations of which the shelf has nothing any more are recorded again.",
        "启动时，书架上已没有任何内容的会话会被重新记录。",
    ),
    Setting(
        "housekeeping.pruneVanishedSessions", "bool", True, "Advanced",
        "Forget deleted conversations", "清理已删除会话的进度",
        "At the start, tasks and progress of conversations without a log are removed; the shelf keeps what it has.",
        "启动时，日志已不存在的会话的任务与进度会被移除，书架上的内容保留。",
    ),
    Setting(
        "housekeeping.backfillConsolidation", "bool", True, "Advanced",
        "Summarise what was left over", "补做遗留的摘要",
        "At the start, conversations that ended without a summary of their rest get one, few per project.",
        "启动时，为结束时仍有剩余未总结的会话补做摘要，每个项目限量。",
    ),
    Setting(
        "housekeeping.consolidationBackfillPerScope", "int", 4, "Advanced",
        "Left-over summaries per project", "每个项目补做的摘要数",
        "How many of them a start makes for each project, at most.", "每次启动为每个项目最多补做多少个。",
        low=1, high=64,
    ),
)  # fmt: skip

BY_KEY: dict[str, Setting] = {row.key: row for row in SETTINGS}
