<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>windows</name>
    <message><source>&amp;Add model</source><translation>添加模型(&amp;A)</translation></message>
    <message><source>&amp;All conversations found</source><translation>找到的全部会话(&amp;A)</translation></message>
    <message><source>&amp;Back</source><translation>上一步(&amp;B)</translation></message>
    <message><source>&amp;Built-in, without a model</source><translation>内置提取，无需模型(&amp;B)</translation></message>
    <message><source>&amp;Connect folder…</source><translation>连接文件夹(&amp;C)…</translation></message>
    <message><source>&amp;Delete memory and settings too</source><translation>同时删除记忆和设置(&amp;D)</translation></message>
    <message><source>&amp;Discard selected…</source><translation>丢弃所选(&amp;D)…</translation></message>
    <message><source>&amp;Disconnect…</source><translation>断开(&amp;D)…</translation></message>
    <message><source>&amp;Guide…</source><translation>指南(&amp;G)…</translation></message>
    <message><source>&amp;Import…</source><translation>导入(&amp;I)…</translation></message>
    <message><source>&amp;Keep memory and settings</source><translation>保留记忆和设置(&amp;K)</translation></message>
    <message><source>&amp;List its models</source><translation>列出模型(&amp;L)</translation></message>
    <message><source>&amp;Manage…</source><translation>管理(&amp;M)…</translation></message>
    <message><source>&amp;Menu</source><translation>菜单(&amp;M)</translation></message>
    <message><source>&amp;New shelf…</source><translation>新建书架(&amp;N)…</translation></message>
    <message><source>&amp;Next</source><translation>下一步(&amp;N)</translation></message>
    <message><source>&amp;Notify again</source><translation>恢复通知(&amp;N)</translation></message>
    <message><source>&amp;Past notifications…</source><translation>以往通知(&amp;P)…</translation></message>
    <message><source>&amp;Pause</source><translation>暂停(&amp;P)</translation></message>
    <message><source>&amp;Put back the copy of {when}</source><translation>恢复 {when} 的副本(&amp;P)</translation></message>
    <message><source>&amp;Quit</source><translation>退出(&amp;Q)</translation></message>
    <message><source>&amp;Remove the companion…</source><translation>移除程序(&amp;R)…</translation></message>
    <message><source>&amp;Retry selected</source><translation>重试所选(&amp;R)</translation></message>
    <message><source>&amp;Review…</source><translation>待处理(&amp;R)…</translation></message>
    <message><source>&amp;Review… ({n})</source><translation>待处理(&amp;R)…（{n}）</translation></message>
    <message><source>&amp;Shelf</source><translation>书架(&amp;S)</translation></message>
    <message><source>&amp;Start recording</source><translation>开始记录(&amp;S)</translation></message>
    <message><source>&amp;Undo</source><translation>撤销(&amp;U)</translation></message>
    <message><source>&amp;Use this shelf</source><translation>使用此书架(&amp;U)</translation></message>
    <message><source>&amp;Welcome…</source><translation>欢迎(&amp;W)…</translation></message>
    <message><source>&amp;Yes, delete everything that was remembered, for good</source><translation>是的，永久删除所有记忆(&amp;Y)</translation></message>
    <message><source>, </source><translation>，</translation></message>
    <message><source>A &amp;folder of your own…</source><translation>自选文件夹(&amp;F)…</translation></message>
    <message><source>A connected agent finds what earlier conversations hold, and can keep something on purpose. What would change in its files is shown first, and can be taken back.</source><translation>已连接的智能体能查到以前会话的内容，也能主动保存要点。对其文件的更改会先显示出来，并且可以撤回。</translation></message>
    <message><source>A copy is made once a day while the shelf is in use</source><translation>使用书架期间每天制作一份副本</translation></message>
    <message><source>A fault in the program stopped “{name}”. Details: {path}</source><translation>程序故障导致“{name}”停止。详情见：{path}</translation></message>
    <message><source>A key is never shown again. It goes to its provider only.</source><translation>密钥不会再次显示，只会发送给其提供商。</translation></message>
    <message><source>A model gets parts of your conversations, secrets hidden, and its provider sees them. A model on this computer sends nothing away. More models, keys and limits are under Settings.</source><translation>模型会收到会话的部分内容（已隐藏机密），其提供方可以看到。本机上的模型不发送任何内容。更多模型、密钥和限额在设置中。</translation></message>
    <message><source>A new shelf</source><translation>新书架</translation></message>
    <message><source>A paragraph in its instructions</source><translation>其说明文件中的一段文字</translation></message>
    <message><source>A shelf of yours</source><translation>你自己的书架</translation></message>
    <message><source>A skill: when and how to use the memory</source><translation>技能：何时以及如何使用记忆</translation></message>
    <message><source>A summary appears here when enough was said, or when you press Summarise now.</source><translation>内容足够多时，或按“立即总结”后，摘要会显示在这里。</translation></message>
    <message><source>A task of “{name}” was discarded.</source><translation>“{name}”的一个任务已放弃。</translation></message>
    <message><source>Accept</source><translation>接受</translation></message>
    <message><source>Accept for</source><translation>采纳到</translation></message>
    <message><source>Activity</source><translation>活动</translation></message>
    <message><source>Address</source><translation>地址</translation></message>
    <message><source>Address of the server, https://…/v1</source><translation>服务器地址，https://…/v1</translation></message>
    <message><source>Agent</source><translation>智能体</translation></message>
    <message><source>Agents that use the memory</source><translation>使用记忆的智能体</translation></message>
    <message><source>All conversations are recorded: {amount}.</source><translation>记录全部会话：{amount}。</translation></message>
    <message><source>All projects</source><translation>所有项目</translation></message>
    <message><source>Another model</source><translation>添加其他模型</translation></message>
    <message><source>Answered</source><translation>已回答</translation></message>
    <message><source>Answers</source><translation>有响应</translation></message>
    <message><source>Any outcome</source><translation>任何结果</translation></message>
    <message><source>Archive</source><translation>归档</translation></message>
    <message><source>Archive of “{name}”</source><translation>“{name}”的归档</translation></message>
    <message><source>Archives</source><translation>归档</translation></message>
    <message><source>Archives, tier {n}</source><translation>归档，第 {n} 层</translation></message>
    <message><source>As &amp;JSON Lines…</source><translation>JSON Lines 格式(&amp;J)…</translation></message>
    <message><source>As &amp;Markdown…</source><translation>Markdown 格式(&amp;M)…</translation></message>
    <message><source>As a &amp;Hypatia export…</source><translation>Hypatia 导出格式(&amp;H)…</translation></message>
    <message><source>As it is set in Settings now.</source><translation>与当前设置相同。</translation></message>
    <message><source>As the system</source><translation>跟随系统</translation></message>
    <message><source>Asking…</source><translation>正在询问…</translation></message>
    <message><source>Attempts so far</source><translation>此前的尝试</translation></message>
    <message><source>Back</source><translation>返回</translation></message>
    <message><source>Budget</source><translation>预算</translation></message>
    <message><source>Built-in (no model): picks sentences out of the conversation. Nothing is sent, nothing is paid.</source><translation>内置提取（无需模型）：从会话中挑选原句。不发送任何内容，也不产生费用。</translation></message>
    <message><source>Cached input</source><translation>缓存输入</translation></message>
    <message><source>Calls appear here once a model was asked. Without a model nothing is sent anywhere.</source><translation>询问模型后，调用会显示在这里。没有模型时不会向任何地方发送内容。</translation></message>
    <message><source>Cancel</source><translation>取消</translation></message>
    <message><source>Cancel: {what}</source><translation>取消：{what}</translation></message>
    <message><source>Change nothing</source><translation>不作更改</translation></message>
    <message><source>Changed file</source><translation>更改的文件</translation></message>
    <message><source>Changed. Default: {default}</source><translation>已更改。默认值：{default}</translation></message>
    <message><source>Changes in files</source><translation>文件中的更改</translation></message>
    <message><source>Check the files now</source><translation>立即检查文件</translation></message>
    <message><source>Checking…</source><translation>正在检查…</translation></message>
    <message><source>Choose a conversation to see what is kept of it.</source><translation>选择一个会话以查看保留的内容。</translation></message>
    <message><source>Choose a folder for the shelf</source><translation>选择书架的文件夹</translation></message>
    <message><source>Click an entry, or press Enter on it in the list, to go there.</source><translation>点击一个条目，或在列表中按回车，即可转到该条目。</translation></message>
    <message><source>Closer</source><translation>放大</translation></message>
    <message><source>Comparing with earlier memories</source><translation>与先前的记忆比较</translation></message>
    <message><source>Connect</source><translation>连接</translation></message>
    <message><source>Connect a shelf folder</source><translation>连接书架文件夹</translation></message>
    <message><source>Connect {name}</source><translation>连接 {name}</translation></message>
    <message><source>Connect {name}…</source><translation>连接 {name}…</translation></message>
    <message><source>Connected</source><translation>已连接</translation></message>
    <message><source>Connected by an older version: connect again. {folder}</source><translation>由旧版本连接，请重新连接。{folder}</translation></message>
    <message><source>Connected. It counts from the agent's next start.</source><translation>已连接。智能体下次启动后生效。</translation></message>
    <message><source>Connected. {folder}</source><translation>已连接。{folder}</translation></message>
    <message><source>Connections</source><translation>关联</translation></message>
    <message><source>Connections appear here once there is a summary: what it covers, and which lessons come from it.</source><translation>有了摘要后，关联会显示在这里：它涵盖的内容，以及由它得出的经验。</translation></message>
    <message><source>Connect…</source><translation>连接…</translation></message>
    <message><source>Conversation</source><translation>会话</translation></message>
    <message><source>Conversation that cannot be read</source><translation>无法读取的会话</translation></message>
    <message><source>Conversations</source><translation>会话</translation></message>
    <message><source>Conversations appear here once one is recorded</source><translation>记录会话后会显示在这里</translation></message>
    <message><source>Conversations appear here once one is recorded: after the next answer of your agent.</source><translation>记录会话后会显示在这里：在你的智能体下一次回答之后。</translation></message>
    <message><source>Conversations are recorded on the shelf in use.</source><translation>会话记录到使用中的书架。</translation></message>
    <message><source>Conversations known</source><translation>已知会话</translation></message>
    <message><source>Conversations seen</source><translation>已看到的会话</translation></message>
    <message><source>Copied. It holds no title, no project and no word of any conversation.</source><translation>已复制。其中不含标题、项目或任何会话内容。</translation></message>
    <message><source>Copy diagnostics</source><translation>复制诊断信息</translation></message>
    <message><source>Copy the last crash report</source><translation>复制上一次崩溃报告</translation></message>
    <message><source>Cost</source><translation>费用</translation></message>
    <message><source>Cost per day</source><translation>每日费用</translation></message>
    <message><source>Currency</source><translation>货币</translation></message>
    <message><source>Dark</source><translation>深色</translation></message>
    <message><source>Discard</source><translation>丢弃</translation></message>
    <message><source>Discard these tasks?</source><translation>丢弃这些任务？</translation></message>
    <message><source>Discard this task?</source><translation>丢弃此任务？</translation></message>
    <message><source>Discard {n} task?</source><translation>丢弃 {n} 个任务？</translation></message>
    <message><source>Discard {n} tasks?</source><translation>丢弃 {n} 个任务？</translation></message>
    <message><source>Discard “{what}”?</source><translation>丢弃“{what}”？</translation></message>
    <message><source>Discard…</source><translation>丢弃…</translation></message>
    <message><source>Disconnect</source><translation>断开</translation></message>
    <message><source>Disconnect the shelf “{name}”?</source><translation>断开书架“{name}”？</translation></message>
    <message><source>Disconnect {name}</source><translation>断开 {name}</translation></message>
    <message><source>Disconnect {name}…</source><translation>断开 {name}…</translation></message>
    <message><source>Disconnected.</source><translation>已断开。</translation></message>
    <message><source>Disconnect…</source><translation>断开…</translation></message>
    <message><source>Do &amp;not mention again</source><translation>不再提示(&amp;N)</translation></message>
    <message><source>Do not forget it</source><translation>不遗忘</translation></message>
    <message><source>Do not keep</source><translation>不保存</translation></message>
    <message><source>Do not mention again</source><translation>不再提示</translation></message>
    <message><source>Do not offer this any more</source><translation>不再提供此撤销</translation></message>
    <message><source>Do not record</source><translation>不记录</translation></message>
    <message><source>Drag, or press Alt and an arrow key</source><translation>拖动，或按 Alt 加方向键</translation></message>
    <message><source>E&amp;xport</source><translation>导出(&amp;X)</translation></message>
    <message><source>Empty: {url}</source><translation>留空：{url}</translation></message>
    <message><source>Entries</source><translation>条目</translation></message>
    <message><source>Entries of others</source><translation>他人的条目</translation></message>
    <message><source>Entry</source><translation>条目</translation></message>
    <message><source>Every call to a model in the last 35 days.</source><translation>最近 35 天内对模型的每次调用。</translation></message>
    <message><source>Every entry of {name} has its vector.</source><translation>{name} 的每个条目都有向量。</translation></message>
    <message><source>Every program that you run can read this file. The keyring protects a key better, where there is one.</source><translation>你运行的每个程序都能读取此文件。如有密钥环，用它保存更安全。</translation></message>
    <message><source>Everything</source><translation>全部</translation></message>
    <message><source>Everything ({n})</source><translation>全部（{n}）</translation></message>
    <message><source>Everything in this conversation is summarised already</source><translation>此会话的内容均已总结</translation></message>
    <message><source>Everything that is recorded has its summary.</source><translation>已记录的内容都有摘要。</translation></message>
    <message><source>Export the shelf into a new folder here</source><translation>将书架导出到此处的新文件夹</translation></message>
    <message><source>Export the shelf to a file</source><translation>将书架导出到文件</translation></message>
    <message><source>Exporting the shelf “{name}”</source><translation>正在导出书架“{name}”</translation></message>
    <message><source>Facts for a report of a fault, without a word of any conversation</source><translation>用于报告故障的事实，不含任何会话内容</translation></message>
    <message><source>Failed</source><translation>失败</translation></message>
    <message><source>Failed task</source><translation>失败的任务</translation></message>
    <message><source>Farther away</source><translation>缩小</translation></message>
    <message><source>Filter</source><translation>筛选</translation></message>
    <message><source>Filter by model or purpose</source><translation>按模型或用途筛选</translation></message>
    <message><source>Filter by title or project</source><translation>按标题或项目筛选</translation></message>
    <message><source>Finishing what is being written, then switching to {name}…</source><translation>正在完成写入，随后切换到 {name}…</translation></message>
    <message><source>Folder</source><translation>文件夹</translation></message>
    <message><source>For</source><translation>用途</translation></message>
    <message><source>For 1 &amp;hour</source><translation>1 小时(&amp;H)</translation></message>
    <message><source>Forget it</source><translation>遗忘</translation></message>
    <message><source>Forget this conversation: {title}</source><translation>遗忘此会话：{title}</translation></message>
    <message><source>Forget this conversation…</source><translation>遗忘此会话…</translation></message>
    <message><source>Found</source><translation>找到</translation></message>
    <message><source>Found by words, not by meaning: {why}</source><translation>只能按词查找，不能按语义：{why}</translation></message>
    <message><source>Free of charge today: {what}</source><translation>今日免费使用：{what}</translation></message>
    <message><source>Free on this disk</source><translation>此磁盘剩余空间</translation></message>
    <message><source>From DSH's settings, without its key; enter one under Settings, Models.</source><translation>来自 DSH 的设置，不含密钥；请在“设置 › 模型”中填写。</translation></message>
    <message><source>From DSH's settings; the key in {name} is used.</source><translation>来自 DSH 的设置；使用 {name} 中的密钥。</translation></message>
    <message><source>From a &amp;file…</source><translation>从文件(&amp;I)…</translation></message>
    <message><source>From a &amp;folder…</source><translation>从文件夹(&amp;F)…</translation></message>
    <message><source>From now &amp;on</source><translation>从现在开始(&amp;O)</translation></message>
    <message><source>From the &amp;last</source><translation>最近(&amp;L)</translation></message>
    <message><source>From the shelf go: {what}.</source><translation>将从书架移除：{what}。</translation></message>
    <message><source>Guide</source><translation>指南</translation></message>
    <message><source>Health</source><translation>健康状况</translation></message>
    <message><source>How many days</source><translation>天数</translation></message>
    <message><source>Import a file</source><translation>导入文件</translation></message>
    <message><source>Import a folder</source><translation>导入文件夹</translation></message>
    <message><source>Import into the shelf “{name}”</source><translation>导入到书架“{name}”</translation></message>
    <message><source>Importing into the shelf “{name}”</source><translation>正在导入到书架“{name}”</translation></message>
    <message><source>In a file of an agent</source><translation>智能体的文件中</translation></message>
    <message><source>In a file only you can read</source><translation>保存在仅你可读的文件中</translation></message>
    <message><source>In the key store</source><translation>密钥库中</translation></message>
    <message><source>In the system's keyring</source><translation>保存在系统钥匙串中</translation></message>
    <message><source>Input</source><translation>输入</translation></message>
    <message><source>It goes from these shelves: {names}.</source><translation>将从这些书架移除：{names}。</translation></message>
    <message><source>It is kept in {folder}.</source><translation>保存在 {folder} 中。</translation></message>
    <message><source>It is kept on the shelf “{name}”.</source><translation>保存在书架“{name}”上。</translation></message>
    <message><source>It is not recorded again, nor is what is said in it later. The log of your agent stays, and so do exports.</source><translation>它不会再被记录，之后在其中说的内容也不会。你的智能体的日志保留，导出的文件也保留。</translation></message>
    <message><source>It is removed wherever this program keeps it. This cannot be taken back.</source><translation>本程序保存的该密钥都会被移除。此操作无法撤销。</translation></message>
    <message><source>It must be {bounds}. Not saved.</source><translation>必须是{bounds}。未保存。</translation></message>
    <message><source>Its folder and everything in it stay where they are: {path}</source><translation>文件夹及其全部内容保持不变：{path}</translation></message>
    <message><source>Its log is gone: this cannot be undone.</source><translation>它的日志已不在：此操作无法撤销。</translation></message>
    <message><source>Keep</source><translation>保留</translation></message>
    <message><source>Keep in a file</source><translation>保存到文件</translation></message>
    <message><source>Keep it</source><translation>保存方式</translation></message>
    <message><source>Keep the key in a file?</source><translation>要把密钥保存到文件吗？</translation></message>
    <message><source>Key</source><translation>密钥</translation></message>
    <message><source>Key of {name}</source><translation>{name} 的密钥</translation></message>
    <message><source>Keys</source><translation>密钥</translation></message>
    <message><source>Key…</source><translation>密钥…</translation></message>
    <message><source>Kind</source><translation>类型</translation></message>
    <message><source>Last copy</source><translation>最近副本</translation></message>
    <message><source>Last said</source><translation>最近发言</translation></message>
    <message><source>Lesson</source><translation>经验</translation></message>
    <message><source>Lessons</source><translation>经验</translation></message>
    <message><source>Lessons per day</source><translation>每日经验</translation></message>
    <message><source>Light</source><translation>浅色</translation></message>
    <message><source>Limit for a day: {what}</source><translation>每日限额：{what}</translation></message>
    <message><source>Links</source><translation>关联</translation></message>
    <message><source>Log of the companion</source><translation>本程序的日志</translation></message>
    <message><source>Logs that are not simply fine</source><translation>有问题的日志</translation></message>
    <message><source>Looking for agents…</source><translation>正在查找智能体…</translation></message>
    <message><source>Looking for conversations…</source><translation>正在查找会话…</translation></message>
    <message><source>Make missing &amp;vectors</source><translation>生成缺少的向量(&amp;V)</translation></message>
    <message><source>Making vectors for the shelf “{name}”</source><translation>正在为书架“{name}”生成向量</translation></message>
    <message><source>Mem&amp;ory…</source><translation>记忆(&amp;O)…</translation></message>
    <message><source>Memory</source><translation>记忆</translation></message>
    <message><source>Memory and settings</source><translation>记忆和设置</translation></message>
    <message><source>Message</source><translation>消息</translation></message>
    <message><source>Messages</source><translation>消息</translation></message>
    <message><source>Messages on this shelf</source><translation>此书架上的消息</translation></message>
    <message><source>Messages per day</source><translation>每日消息</translation></message>
    <message><source>Messages recorded today</source><translation>今日记录的消息</translation></message>
    <message><source>Messages seen</source><translation>已看到的消息</translation></message>
    <message><source>Messages, summaries and lessons that have any of your words appear here, the best first.</source><translation>含有你输入的任一词语的消息、摘要和经验会显示在这里，最相关的在前。</translation></message>
    <message><source>Model</source><translation>模型</translation></message>
    <message><source>Model calls</source><translation>模型调用</translation></message>
    <message><source>Model tokens per day</source><translation>每日模型 token</translation></message>
    <message><source>Model: {route}</source><translation>模型：{route}</translation></message>
    <message><source>Models</source><translation>模型</translation></message>
    <message><source>Move down</source><translation>下移</translation></message>
    <message><source>Move up</source><translation>上移</translation></message>
    <message><source>Name as the provider spells it</source><translation>按提供方的写法填写名称</translation></message>
    <message><source>Name of the new shelf</source><translation>新书架的名称</translation></message>
    <message><source>Needs attention</source><translation>需要注意</translation></message>
    <message><source>Needs attention: {what}</source><translation>需要注意：{what}</translation></message>
    <message><source>New file</source><translation>新文件</translation></message>
    <message><source>New name of the shelf “{name}”</source><translation>书架“{name}”的新名称</translation></message>
    <message><source>New shelf</source><translation>新建书架</translation></message>
    <message><source>No call fits this filter.</source><translation>没有符合此筛选条件的调用。</translation></message>
    <message><source>No conversation</source><translation>没有会话</translation></message>
    <message><source>No conversation has these words in its title or project.</source><translation>没有会话的标题或项目含有这些词语。</translation></message>
    <message><source>No conversation was found yet. They appear as soon as an agent writes one.</source><translation>尚未找到会话。智能体写入会话后即会出现。</translation></message>
    <message><source>No longer there</source><translation>已不存在</translation></message>
    <message><source>No model is set: summaries are put together from sentences of the conversation itself.</source><translation>未设置模型：摘要由会话自身的句子组成。</translation></message>
    <message><source>No setting matches.</source><translation>没有匹配的设置。</translation></message>
    <message><source>No summary can be made now: the shelf does not answer</source><translation>现在无法生成摘要：书架没有响应</translation></message>
    <message><source>None yet</source><translation>尚无</translation></message>
    <message><source>Not added: {why}.</source><translation>未添加：{why}。</translation></message>
    <message><source>Not answered yet</source><translation>尚未回答</translation></message>
    <message><source>Not asked yet since the start</source><translation>启动后尚未询问</translation></message>
    <message><source>Not changed: {why}</source><translation>未更改：{why}</translation></message>
    <message><source>Not connected</source><translation>未连接</translation></message>
    <message><source>Not connected. {folder}</source><translation>未连接。{folder}</translation></message>
    <message><source>Not no&amp;w</source><translation>暂不(&amp;W)</translation></message>
    <message><source>Not now</source><translation>以后再说</translation></message>
    <message><source>Not on this machine.</source><translation>本机没有安装。</translation></message>
    <message><source>Not recording yet: one question is open</source><translation>尚未开始记录：有一个问题等待回答</translation></message>
    <message><source>Not usable</source><translation>无法使用</translation></message>
    <message><source>Nothing can be changed here until then, and nothing new is recorded.</source><translation>在此之前无法在这里更改设置，也不会记录新内容。</translation></message>
    <message><source>Nothing here matches the filter.</source><translation>没有符合筛选条件的内容。</translation></message>
    <message><source>Nothing is recorded before you answer.</source><translation>在你回答之前不会记录任何内容。</translation></message>
    <message><source>Nothing on this shelf has any of these words. Try fewer or other ones.</source><translation>此书架上没有含这些词语的内容。请尝试更少或其他词语。</translation></message>
    <message><source>Nothing waits for you. What fails for good, cannot be read or needs your word appears here.</source><translation>没有待处理的事项。反复失败、无法读取或需要你决定的内容会显示在这里。</translation></message>
    <message><source>Nothing was told yet since the program started.</source><translation>程序启动后还没有通知。</translation></message>
    <message><source>Nothing was written outside its folders.</source><translation>没有在程序文件夹之外写入任何内容。</translation></message>
    <message><source>Nothing yet</source><translation>尚无</translation></message>
    <message><source>Nothing: all models in your list run on your own machines.</source><translation>没有：列表中的模型都在你自己的机器上运行。</translation></message>
    <message><source>Nothing: all of it is summarised</source><translation>无：已全部总结</translation></message>
    <message><source>Nothing: summaries are made on this computer, without a model.</source><translation>没有：摘要在本机生成，不使用模型。</translation></message>
    <message><source>Nothing: summaries are switched off.</source><translation>没有：总结已关闭。</translation></message>
    <message><source>Nothing: this entry stands alone</source><translation>无：此条目没有关联</translation></message>
    <message><source>Now remove the program itself, the way it was installed.</source><translation>现在请按安装时的方式移除程序本身。</translation></message>
    <message><source>On GNOME the extension AppIndicator brings them. Without it, start the program again to get this window.</source><translation>在 GNOME 上可安装 AppIndicator 扩展来显示图标。没有扩展时，再次启动程序即可打开此窗口。</translation></message>
    <message><source>On a shelf: a folder on this computer. Each shelf is a memory of its own.</source><translation>保存在书架上：本机的一个文件夹。每个书架都是独立的记忆。</translation></message>
    <message><source>Only until the program ends</source><translation>仅保留到程序退出</translation></message>
    <message><source>Open</source><translation>打开</translation></message>
    <message><source>Open Settings</source><translation>打开设置</translation></message>
    <message><source>Open conversation</source><translation>打开会话</translation></message>
    <message><source>Open the conversation</source><translation>打开会话</translation></message>
    <message><source>Open the file</source><translation>打开文件</translation></message>
    <message><source>Outcome</source><translation>结果</translation></message>
    <message><source>Output</source><translation>输出</translation></message>
    <message><source>Overview</source><translation>概览</translation></message>
    <message><source>Pages</source><translation>页面</translation></message>
    <message><source>Pages of the settings</source><translation>设置页面</translation></message>
    <message><source>Parts of conversations go to these servers when a summary is made:</source><translation>生成摘要时，会话的部分内容会发送到这些服务器：</translation></message>
    <message><source>Past notifications</source><translation>以往通知</translation></message>
    <message><source>Paused until you resume</source><translation>已暂停，直到你恢复</translation></message>
    <message><source>Paused until {time}</source><translation>已暂停至 {time}</translation></message>
    <message><source>Picture of the connections</source><translation>关联图</translation></message>
    <message><source>Place {place} of {count}: {name}</source><translation>第 {place} 位，共 {count} 位：{name}</translation></message>
    <message><source>Price of {name}</source><translation>{name} 的价格</translation></message>
    <message><source>Price: {source}</source><translation>价格：{source}</translation></message>
    <message><source>Price…</source><translation>价格…</translation></message>
    <message><source>Process {n}</source><translation>进程 {n}</translation></message>
    <message><source>Program</source><translation>程序</translation></message>
    <message><source>Project</source><translation>项目</translation></message>
    <message><source>Provider</source><translation>提供方</translation></message>
    <message><source>Received</source><translation>接收</translation></message>
    <message><source>Record</source><translation>记录</translation></message>
    <message><source>Record {id} again, forgotten {when}</source><translation>重新记录 {id}（遗忘于 {when}）</translation></message>
    <message><source>Recorded are the messages between you and the agents. Passwords and keys are hidden before anything is stored, and what tools read or wrote is left out.</source><translation>记录的是你与智能体之间的消息。密码和密钥在保存前会被隐藏，工具读写的内容不记录。</translation></message>
    <message><source>Recorded up to</source><translation>已记录至</translation></message>
    <message><source>Recording of “{name}”</source><translation>“{name}”的记录</translation></message>
    <message><source>Recording starts anew with this change.</source><translation>更改后会重新开始记录。</translation></message>
    <message><source>Recording to {name} now</source><translation>现在记录到 {name}</translation></message>
    <message><source>Refuse</source><translation>拒绝</translation></message>
    <message><source>Remove</source><translation>移除</translation></message>
    <message><source>Remove and quit</source><translation>移除并退出</translation></message>
    <message><source>Remove key</source><translation>移除密钥</translation></message>
    <message><source>Remove the companion</source><translation>移除程序</translation></message>
    <message><source>Remove the key of {name}?</source><translation>要移除 {name} 的密钥吗？</translation></message>
    <message><source>Remove {name}</source><translation>移除 {name}</translation></message>
    <message><source>Removed file</source><translation>移除的文件</translation></message>
    <message><source>Rena&amp;me…</source><translation>重命名(&amp;M)…</translation></message>
    <message><source>Rename the shelf</source><translation>重命名书架</translation></message>
    <message><source>Reset</source><translation>重置</translation></message>
    <message><source>Reset “{name}”</source><translation>重置“{name}”</translation></message>
    <message><source>Resting: it is started when it is needed</source><translation>休息中：需要时会启动</translation></message>
    <message><source>Resu&amp;me</source><translation>恢复(&amp;M)</translation></message>
    <message><source>Results</source><translation>结果</translation></message>
    <message><source>Retry</source><translation>重试</translation></message>
    <message><source>Retry with</source><translation>换模型重试</translation></message>
    <message><source>Retry with {route}</source><translation>用 {route} 重试</translation></message>
    <message><source>Review</source><translation>待处理</translation></message>
    <message><source>Review ({n})</source><translation>待处理（{n}）</translation></message>
    <message><source>Review…</source><translation>待处理…</translation></message>
    <message><source>Rule</source><translation>规则</translation></message>
    <message><source>Runs on this computer; nothing is sent away.</source><translation>在本机运行，不发送任何内容。</translation></message>
    <message><source>S&amp;ettings…</source><translation>设置(&amp;E)…</translation></message>
    <message><source>S&amp;ummarise now</source><translation>立即总结(&amp;U)</translation></message>
    <message><source>Save &amp;key</source><translation>保存密钥(&amp;K)</translation></message>
    <message><source>Save as CSV</source><translation>另存为 CSV</translation></message>
    <message><source>Save as CSV…</source><translation>另存为 CSV…</translation></message>
    <message><source>Save price</source><translation>保存价格</translation></message>
    <message><source>Search</source><translation>搜索</translation></message>
    <message><source>Search settings</source><translation>搜索设置</translation></message>
    <message><source>Seconds</source><translation>秒</translation></message>
    <message><source>Select &amp;all</source><translation>全选(&amp;A)</translation></message>
    <message><source>Select “{what}”</source><translation>选择“{what}”</translation></message>
    <message><source>Sent</source><translation>发送</translation></message>
    <message><source>Settings</source><translation>设置</translation></message>
    <message><source>Shelf</source><translation>书架</translation></message>
    <message><source>Shelf entry of “{name}”</source><translation>“{name}”的书架条目</translation></message>
    <message><source>Shelf server ({name})</source><translation>书架服务（{name}）</translation></message>
    <message><source>Shelf: {name}</source><translation>书架：{name}</translation></message>
    <message><source>Shelf: {name} ({server})</source><translation>书架：{name}（{server}）</translation></message>
    <message><source>Shelves</source><translation>书架</translation></message>
    <message><source>Show all</source><translation>显示全部</translation></message>
    <message><source>Show connections</source><translation>显示关联</translation></message>
    <message><source>Show {n} more</source><translation>再显示 {n} 项</translation></message>
    <message><source>Size</source><translation>大小</translation></message>
    <message><source>Snooze &amp;notifications</source><translation>暂停通知(&amp;N)</translation></message>
    <message><source>Start at &amp;login</source><translation>登录时启动(&amp;L)</translation></message>
    <message><source>Start at login</source><translation>登录时启动</translation></message>
    <message><source>Start at login was not changed</source><translation>登录时启动未更改</translation></message>
    <message><source>Starting…</source><translation>正在启动…</translation></message>
    <message><source>Starts the program quietly when you log in.</source><translation>登录后在后台安静地启动本程序。</translation></message>
    <message><source>State</source><translation>状态</translation></message>
    <message><source>Step {n} of {count}</source><translation>第 {n} 步，共 {count} 步</translation></message>
    <message><source>Stopped at: {hop}.</source><translation>停在：{hop}。</translation></message>
    <message><source>Stopping after the step at hand…</source><translation>完成当前步骤后停止…</translation></message>
    <message><source>Summaries</source><translation>摘要</translation></message>
    <message><source>Summaries and lessons of the conversation</source><translation>会话的摘要和经验</translation></message>
    <message><source>Summaries are made without a model: free, and nothing leaves this computer.</source><translation>摘要无需模型即可生成：免费，且没有内容离开本机。</translation></message>
    <message><source>Summaries are switched off in Settings</source><translation>设置中已关闭总结</translation></message>
    <message><source>Summaries are written by {model}.</source><translation>摘要由 {model} 撰写。</translation></message>
    <message><source>Summaries per day</source><translation>每日摘要</translation></message>
    <message><source>Summarise all</source><translation>全部总结</translation></message>
    <message><source>Summarise all…</source><translation>全部总结…</translation></message>
    <message><source>Summarise now</source><translation>立即总结</translation></message>
    <message><source>Summarising all of it takes {work} and at most {tokens} tokens, of unknown price.</source><translation>全部总结需要{work}，最多 {tokens} 个 token，价格未知。</translation></message>
    <message><source>Summarising all of it takes {work} and at most {tokens} tokens, {price} at most.</source><translation>全部总结需要{work}，最多 {tokens} 个 token，最多 {price}。</translation></message>
    <message><source>Summarising all of it takes {work} and at most {tokens} tokens. It costs nothing.</source><translation>全部总结需要{work}，最多 {tokens} 个 token。不产生费用。</translation></message>
    <message><source>Summary</source><translation>摘要</translation></message>
    <message><source>Summary of “{name}”</source><translation>“{name}”的摘要</translation></message>
    <message><source>Taboo</source><translation>禁忌</translation></message>
    <message><source>Take over {n} conversation</source><translation>接管 {n} 个会话</translation></message>
    <message><source>Take over {n} conversations</source><translation>接管 {n} 个会话</translation></message>
    <message><source>Takes back what was written outside the companion’s own folders: in files of agents, for the login, in the key store. All of it is shown first.</source><translation>收回写在程序文件夹之外的内容：智能体的文件、登录启动项、密钥库。全部内容会先显示出来。</translation></message>
    <message><source>Takes effect at once.</source><translation>立即生效。</translation></message>
    <message><source>Tasks</source><translation>任务</translation></message>
    <message><source>Tasks left</source><translation>剩余任务</translation></message>
    <message><source>Test</source><translation>测试</translation></message>
    <message><source>Test {name}</source><translation>测试 {name}</translation></message>
    <message><source>The companion</source><translation>本程序</translation></message>
    <message><source>The companion took back what it wrote</source><translation>程序已收回它写入的内容</translation></message>
    <message><source>The companion’s own file</source><translation>本程序自己的文件</translation></message>
    <message><source>The companion’s own file is damaged: {what}</source><translation>本程序自己的文件已损坏：{what}</translation></message>
    <message><source>The companion’s own file is whole.</source><translation>本程序自己的文件完好。</translation></message>
    <message><source>The conversation is recorded again from its log; its summaries are made anew.</source><translation>会话正从其日志重新记录；摘要会重新生成。</translation></message>
    <message><source>The conversation itself is kept. You can make it again later with Summarise now.</source><translation>会话本身会保留。之后可用“立即总结”重新生成。</translation></message>
    <message><source>The entry in the middle</source><translation>中间的条目</translation></message>
    <message><source>The entry that is chosen</source><translation>选中的条目</translation></message>
    <message><source>The folder {path} is gone or cannot be opened. Bring it back, plug in its disk, or disconnect the shelf.</source><translation>文件夹 {path} 已不存在或无法打开。请恢复它、接上其磁盘，或断开此书架。</translation></message>
    <message><source>The key in {name} is used.</source><translation>使用 {name} 中的密钥。</translation></message>
    <message><source>The key is kept. Press Test at a model to try it.</source><translation>密钥已保存。可在模型处点“测试”验证。</translation></message>
    <message><source>The key is removed.</source><translation>密钥已移除。</translation></message>
    <message><source>The last {days} are recorded: {amount}.</source><translation>记录最近 {days}：{amount}。</translation></message>
    <message><source>The plots are being drawn…</source><translation>正在绘制图表…</translation></message>
    <message><source>The program had no fault.</source><translation>程序没有出过故障。</translation></message>
    <message><source>The program itself stays until you remove it the way it was installed.</source><translation>程序本身会保留，直到你按安装时的方式将其移除。</translation></message>
    <message><source>The program sends nothing else: no statistics, no reports. Passwords and keys are hidden before anything is stored or sent. Memory itself is kept in files on this computer.</source><translation>程序不发送其他任何内容：没有统计，没有报告。密码和密钥在存储或发送前都会被隐藏。记忆本身保存在本机的文件中。</translation></message>
    <message><source>The setting was not taken back</source><translation>设置未能恢复</translation></message>
    <message><source>The settings file has entries that are not known here and are kept: {names}.</source><translation>设置文件中有此处未知的条目，已保留：{names}。</translation></message>
    <message><source>The shelf is named {name} now.</source><translation>书架现在名为 {name}。</translation></message>
    <message><source>The shelf is named “{name}” now.</source><translation>书架现在名为“{name}”。</translation></message>
    <message><source>The shelf “{name}” was disconnected.</source><translation>书架“{name}”已断开。</translation></message>
    <message><source>The summary is being made</source><translation>正在生成摘要</translation></message>
    <message><source>The vectors are those of another model.</source><translation>现有向量来自另一个模型。</translation></message>
    <message><source>There is more on the shelf than is shown here.</source><translation>书架上的内容多于此处所示。</translation></message>
    <message><source>There is nothing to change.</source><translation>没有需要更改的内容。</translation></message>
    <message><source>Thinking effort</source><translation>思考强度</translation></message>
    <message><source>Thinking effort of {name}</source><translation>{name} 的思考强度</translation></message>
    <message><source>This conversation is being summarised already</source><translation>此会话正在总结中</translation></message>
    <message><source>This conversation is not known any more</source><translation>此会话已不存在</translation></message>
    <message><source>This desktop shows no tray icons</source><translation>此桌面不显示托盘图标</translation></message>
    <message><source>This entry belongs to no conversation recorded here.</source><translation>此条目不属于这里记录的任何会话。</translation></message>
    <message><source>This entry was written by somebody else; it belongs to no conversation recorded here.</source><translation>此条目由他人写入；不属于这里记录的任何会话。</translation></message>
    <message><source>This is changed, and nothing else. A copy of each file is kept.</source><translation>只更改这些内容，每个文件都保留一份副本。</translation></message>
    <message><source>This is taken back, then the companion quits:</source><translation>将收回以下内容，然后程序退出：</translation></message>
    <message><source>This model is in the list already.</source><translation>列表中已有此模型。</translation></message>
    <message><source>Tokens</source><translation>Token</translation></message>
    <message><source>Tools to look into the memory and to keep something</source><translation>查阅记忆和保存要点的工具</translation></message>
    <message><source>Type or paste the key first.</source><translation>请先输入或粘贴密钥。</translation></message>
    <message><source>Type the address of the server.</source><translation>请填写服务器地址。</translation></message>
    <message><source>Type the name of the model.</source><translation>请输入模型名称。</translation></message>
    <message><source>Type the price of a million tokens as numbers, 0 where it is free.</source><translation>请用数字填写每百万 token 的价格，免费则填 0。</translation></message>
    <message><source>Undo: {what}</source><translation>撤销：{what}</translation></message>
    <message><source>Until &amp;resumed</source><translation>直到恢复(&amp;R)</translation></message>
    <message><source>Until &amp;tomorrow, 06:00</source><translation>到明天 06:00(&amp;T)</translation></message>
    <message><source>Up to date</source><translation>已是最新</translation></message>
    <message><source>Use the built-in price</source><translation>使用内置价格</translation></message>
    <message><source>Used today: {what}</source><translation>今日已用：{what}</translation></message>
    <message><source>Waiting</source><translation>等待中</translation></message>
    <message><source>Waiting for a summary</source><translation>等待总结</translation></message>
    <message><source>Waiting for you: {n}</source><translation>等待你处理：{n}</translation></message>
    <message><source>Waiting until they can be done</source><translation>等待可以处理</translation></message>
    <message><source>Welcome</source><translation>欢迎</translation></message>
    <message><source>What fits, at the start and with each question</source><translation>启动时及每次提问时附上相关内容</translation></message>
    <message><source>What fits, with each question</source><translation>每次提问时附上相关内容</translation></message>
    <message><source>What goes</source><translation>将被移除的内容</translation></message>
    <message><source>What happens now</source><translation>接下来会怎样</translation></message>
    <message><source>What is said from now on is recorded.</source><translation>从现在起的对话会被记录。</translation></message>
    <message><source>What is shown</source><translation>显示内容</translation></message>
    <message><source>What is there already is never overwritten.</source><translation>已有的内容不会被覆盖。</translation></message>
    <message><source>What it is connected with</source><translation>与其关联的条目</translation></message>
    <message><source>What leaves this computer</source><translation>哪些内容会离开本机</translation></message>
    <message><source>What to do: {action}</source><translation>怎么办：{action}</translation></message>
    <message><source>What to look in</source><translation>查找范围</translation></message>
    <message><source>When</source><translation>时间</translation></message>
    <message><source>Where in the program the last fault was; it stays on this machine</source><translation>上一次故障发生在程序的哪个位置；它只留在本机</translation></message>
    <message><source>Where is memory kept?</source><translation>记忆保存在哪里？</translation></message>
    <message><source>Which conversations may be recorded?</source><translation>可以记录哪些会话？</translation></message>
    <message><source>Which model writes the summaries?</source><translation>由哪个模型撰写摘要？</translation></message>
    <message><source>While it runs</source><translation>运行期间</translation></message>
    <message><source>Words to look for on this shelf</source><translation>在此书架上查找的词语</translation></message>
    <message><source>Work on “{name}”</source><translation>“{name}”的处理</translation></message>
    <message><source>Working</source><translation>正在工作</translation></message>
    <message><source>Working: {n} task left</source><translation>正在工作：剩余 {n} 个任务</translation></message>
    <message><source>Working: {n} tasks left</source><translation>正在工作：剩余 {n} 个任务</translation></message>
    <message><source>a limit of yours</source><translation>你设置的限额</translation></message>
    <message><source>about </source><translation>约 </translation></message>
    <message><source>about {n} h left</source><translation>大约还需 {n} 小时</translation></message>
    <message><source>about {n} min left</source><translation>大约还需 {n} 分钟</translation></message>
    <message><source>as you said</source><translation>按你填写的</translation></message>
    <message><source>at most {money}</source><translation>最多 {money}</translation></message>
    <message><source>belongs to</source><translation>属于</translation></message>
    <message><source>built-in shelf</source><translation>内置书架</translation></message>
    <message><source>cannot be reached</source><translation>无法访问</translation></message>
    <message><source>comes from</source><translation>来自</translation></message>
    <message><source>connected</source><translation>已连接</translation></message>
    <message><source>connecting to the server</source><translation>连接服务器</translation></message>
    <message><source>contradicts</source><translation>与其矛盾</translation></message>
    <message><source>covers</source><translation>涵盖</translation></message>
    <message><source>day</source><translation>天</translation></message>
    <message><source>days</source><translation>天</translation></message>
    <message><source>default</source><translation>默认</translation></message>
    <message><source>empty</source><translation>空</translation></message>
    <message><source>failed {n} time</source><translation>失败 {n} 次</translation></message>
    <message><source>failed {n} times</source><translation>失败 {n} 次</translation></message>
    <message><source>free</source><translation>免费</translation></message>
    <message><source>free of charge</source><translation>免费</translation></message>
    <message><source>from an older version: connect again</source><translation>来自旧版本，请重新连接</translation></message>
    <message><source>has</source><translation>包含</translation></message>
    <message><source>in use</source><translation>使用中</translation></message>
    <message><source>is contradicted by</source><translation>与之矛盾的有</translation></message>
    <message><source>is covered by</source><translation>被涵盖于</translation></message>
    <message><source>is refined by</source><translation>被细化为</translation></message>
    <message><source>is replaced by</source><translation>被取代为</translation></message>
    <message><source>its file cannot be read</source><translation>其文件无法读取</translation></message>
    <message><source>just now</source><translation>刚刚</translation></message>
    <message><source>key from {variable}</source><translation>密钥来自 {variable}</translation></message>
    <message><source>key in a private file</source><translation>密钥在私有文件中</translation></message>
    <message><source>key in the keyring</source><translation>密钥在密钥环中</translation></message>
    <message><source>key until the program ends</source><translation>密钥保留到程序结束</translation></message>
    <message><source>last asked {when}</source><translation>上次调用：{when}</translation></message>
    <message><source>led to</source><translation>产生</translation></message>
    <message><source>less than a minute left</source><translation>剩余不到一分钟</translation></message>
    <message><source>lessons</source><translation>经验</translation></message>
    <message><source>looking up the server's name</source><translation>查找服务器名称</translation></message>
    <message><source>messages</source><translation>消息</translation></message>
    <message><source>never asked</source><translation>从未调用</translation></message>
    <message><source>no key</source><translation>没有密钥</translation></message>
    <message><source>none</source><translation>无</translation></message>
    <message><source>not connected</source><translation>未连接</translation></message>
    <message><source>off</source><translation>关</translation></message>
    <message><source>on</source><translation>开</translation></message>
    <message><source>on this machine</source><translation>本机</translation></message>
    <message><source>project {name}</source><translation>项目 {name}</translation></message>
    <message><source>refines</source><translation>细化</translation></message>
    <message><source>replaces</source><translation>取代</translation></message>
    <message><source>running</source><translation>运行中</translation></message>
    <message><source>shown here only</source><translation>仅在此处显示</translation></message>
    <message><source>stays</source><translation>保留</translation></message>
    <message><source>stays on this computer</source><translation>留在本机</translation></message>
    <message><source>summaries</source><translation>摘要</translation></message>
    <message><source>taken by something else</source><translation>已被其他内容占用</translation></message>
    <message><source>the account at the provider</source><translation>提供商处的账户</translation></message>
    <message><source>the key</source><translation>密钥</translation></message>
    <message><source>the model's answer</source><translation>模型的回答</translation></message>
    <message><source>the name of the model</source><translation>模型名称</translation></message>
    <message><source>the proxy</source><translation>代理</translation></message>
    <message><source>the secure connection</source><translation>安全连接</translation></message>
    <message><source>the server</source><translation>服务器</translation></message>
    <message><source>the settings of this model</source><translation>此模型的设置</translation></message>
    <message><source>tokens</source><translation>token</translation></message>
    <message><source>unknown price</source><translation>价格未知</translation></message>
    <message><source>{agent} said this, and its project is not known. Accept it for the one it is about.</source><translation>{agent} 说了这些，但不知道属于哪个项目。请为它所属的项目采纳。</translation></message>
    <message><source>{agent} wants this to be a rule. It becomes one only if you accept it.</source><translation>{agent} 希望将此作为规则。只有你接受后才会成为规则。</translation></message>
    <message><source>{agent} wants this to hold in all projects.</source><translation>{agent} 希望此内容适用于所有项目。</translation></message>
    <message><source>{calls}, {sent} tokens sent, {received} received</source><translation>{calls}，发送 {sent} 个 token，接收 {received} 个</translation></message>
    <message><source>{done} of {total}</source><translation>{done} / {total}</translation></message>
    <message><source>{effort} (not declared)</source><translation>{effort}（未声明）</translation></message>
    <message><source>{host} ({model})</source><translation>{host}（{model}）</translation></message>
    <message><source>{input} in, {output} out per million tokens ({currency})</source><translation>每百万 token 输入 {input}，输出 {output}（{currency}）</translation></message>
    <message><source>{name} is connected. Choose Use this shelf to record there.</source><translation>{name} 已连接。点“使用此书架”即可记录到那里。</translation></message>
    <message><source>{name} is disconnected. Its folder is untouched.</source><translation>{name} 已断开，文件夹保持不变。</translation></message>
    <message><source>{name} is made in {path}. Choose Use this shelf to record there.</source><translation>{name} 已建在 {path}。选择“使用此书架”即可记录到那里。</translation></message>
    <message><source>{n} archive</source><translation>{n} 个归档</translation></message>
    <message><source>{n} archive that covers it goes too and is made again without it.</source><translation>涵盖它的 {n} 个归档也会移除，并在去掉它之后重新生成。</translation></message>
    <message><source>{n} archives</source><translation>{n} 个归档</translation></message>
    <message><source>{n} archives that cover it go too and are made again without it.</source><translation>涵盖它的 {n} 个归档也会移除，并在去掉它之后重新生成。</translation></message>
    <message><source>{n} are there with other text and stay.</source><translation>{n} 个以其他内容存在，保持不变。</translation></message>
    <message><source>{n} call</source><translation>{n} 次调用</translation></message>
    <message><source>{n} call of unknown price</source><translation>{n} 次调用价格未知</translation></message>
    <message><source>{n} call was written to {path}.</source><translation>已将 {n} 次调用写入 {path}。</translation></message>
    <message><source>{n} calls</source><translation>{n} 次调用</translation></message>
    <message><source>{n} calls of unknown price</source><translation>{n} 次调用价格未知</translation></message>
    <message><source>{n} calls were written to {path}.</source><translation>已将 {n} 次调用写入 {path}。</translation></message>
    <message><source>{n} conversation</source><translation>{n} 个会话</translation></message>
    <message><source>{n} conversation is recorded and not wholly summarised.</source><translation>{n} 个会话已记录但尚未完全总结。</translation></message>
    <message><source>{n} conversation was taken over</source><translation>已接管 {n} 个会话</translation></message>
    <message><source>{n} conversation, {size}</source><translation>{n} 个会话，{size}</translation></message>
    <message><source>{n} conversations</source><translation>{n} 个会话</translation></message>
    <message><source>{n} conversations are recorded and not wholly summarised.</source><translation>{n} 个会话已记录但尚未完全总结。</translation></message>
    <message><source>{n} conversations were taken over</source><translation>已接管 {n} 个会话</translation></message>
    <message><source>{n} conversations, {size}</source><translation>{n} 个会话，{size}</translation></message>
    <message><source>{n} could not be read.</source><translation>{n} 个无法读取。</translation></message>
    <message><source>{n} day</source><translation>{n} 天</translation></message>
    <message><source>{n} days</source><translation>{n} 天</translation></message>
    <message><source>{n} entries are written to {path}.</source><translation>已将 {n} 个条目写入 {path}。</translation></message>
    <message><source>{n} entries could not get one.</source><translation>{n} 个条目无法生成向量。</translation></message>
    <message><source>{n} entries have no vector yet.</source><translation>{n} 个条目还没有向量。</translation></message>
    <message><source>{n} entries still have no vector. The server stopped making them.</source><translation>仍有 {n} 个条目没有向量，服务器已停止生成。</translation></message>
    <message><source>{n} entries were added.</source><translation>已添加 {n} 个条目。</translation></message>
    <message><source>{n} entries, the best first</source><translation>{n} 个条目，最相关的在前</translation></message>
    <message><source>{n} entry could not get one.</source><translation>{n} 个条目无法生成向量。</translation></message>
    <message><source>{n} entry has no vector yet.</source><translation>{n} 个条目还没有向量。</translation></message>
    <message><source>{n} entry is written to {path}.</source><translation>已将 {n} 个条目写入 {path}。</translation></message>
    <message><source>{n} entry still has no vector. The server stopped making them.</source><translation>仍有 {n} 个条目没有向量，服务器已停止生成。</translation></message>
    <message><source>{n} entry was added.</source><translation>已添加 {n} 个条目。</translation></message>
    <message><source>{n} entry, the best first</source><translation>{n} 个条目，最相关的在前</translation></message>
    <message><source>{n} failed</source><translation>{n} 个失败</translation></message>
    <message><source>{n} failed task waits for you</source><translation>{n} 个失败的任务等待你处理</translation></message>
    <message><source>{n} failed tasks wait for you</source><translation>{n} 个失败的任务等待你处理</translation></message>
    <message><source>{n} forgotten conversation</source><translation>{n} 个已遗忘的会话</translation></message>
    <message><source>{n} forgotten conversations</source><translation>{n} 个已遗忘的会话</translation></message>
    <message><source>{n} h ago</source><translation>{n} 小时前</translation></message>
    <message><source>{n} is there with other text and stays.</source><translation>{n} 个以其他内容存在，保持不变。</translation></message>
    <message><source>{n} lesson</source><translation>{n} 条经验</translation></message>
    <message><source>{n} lesson stays, because another conversation supports it.</source><translation>{n} 条经验保留，因为另一个会话支持它。</translation></message>
    <message><source>{n} lesson was left out: no evidence</source><translation>略去 {n} 条经验：没有依据</translation></message>
    <message><source>{n} lessons</source><translation>{n} 条经验</translation></message>
    <message><source>{n} lessons stay, because other conversations support them.</source><translation>{n} 条经验保留，因为其他会话支持它们。</translation></message>
    <message><source>{n} lessons were left out: no evidence</source><translation>略去 {n} 条经验：没有依据</translation></message>
    <message><source>{n} message</source><translation>{n} 条消息</translation></message>
    <message><source>{n} message recorded today</source><translation>今日已记录 {n} 条消息</translation></message>
    <message><source>{n} messages</source><translation>{n} 条消息</translation></message>
    <message><source>{n} messages recorded today</source><translation>今日已记录 {n} 条消息</translation></message>
    <message><source>{n} min ago</source><translation>{n} 分钟前</translation></message>
    <message><source>{n} model token used today</source><translation>今日已使用 {n} 个模型 token</translation></message>
    <message><source>{n} model tokens used today</source><translation>今日已使用 {n} 个模型 token</translation></message>
    <message><source>{n} models. Choose one, or type a part of its name.</source><translation>共 {n} 个模型。请选择一个，或输入名称的一部分。</translation></message>
    <message><source>{n} more are not shown</source><translation>另有 {n} 个未显示</translation></message>
    <message><source>{n} of {all}</source><translation>{all} 中的 {n}</translation></message>
    <message><source>{n} summaries</source><translation>{n} 个摘要</translation></message>
    <message><source>{n} summaries are being made</source><translation>正在生成 {n} 个摘要</translation></message>
    <message><source>{n} summary</source><translation>{n} 个摘要</translation></message>
    <message><source>{n} summary is being made</source><translation>正在生成 {n} 个摘要</translation></message>
    <message><source>{n} thing waits for you</source><translation>{n} 项待处理</translation></message>
    <message><source>{n} things wait for you</source><translation>{n} 项待处理</translation></message>
    <message><source>{n} time</source><translation>{n} 次</translation></message>
    <message><source>{n} times</source><translation>{n} 次</translation></message>
    <message><source>{n} token</source><translation>{n} 个 token</translation></message>
    <message><source>{n} tokens</source><translation>{n} 个 token</translation></message>
    <message><source>{n} tokens wait for a summary</source><translation>{n} 个 token 等待总结</translation></message>
    <message><source>{n} wait until they can be done</source><translation>{n} 个等到可以进行时</translation></message>
    <message><source>{n} waits until it can be done</source><translation>{n} 个等到可以进行时</translation></message>
    <message><source>{n} was there already.</source><translation>{n} 个已存在。</translation></message>
    <message><source>{n} were there already.</source><translation>{n} 个已存在。</translation></message>
    <message><source>{size} of memory</source><translation>{size} 内存</translation></message>
    <message><source>{source}: {what} in {folder}</source><translation>{source}：{what}，位于 {folder}</translation></message>
    <message><source>{tokens}, {n} of them for thinking</source><translation>{tokens}，其中 {n} 个用于思考</translation></message>
    <message><source>{tokens}, {n} of them from the provider’s cache</source><translation>{tokens}，其中 {n} 个来自提供商的缓存</translation></message>
    <message><source>{week} of them in the last 7 days, {month} in the last 30 days</source><translation>其中最近 7 天 {week} 个，最近 30 天 {month} 个</translation></message>
    <message><source>{what}, per million tokens</source><translation>{what}，每百万 token</translation></message>
    <message><source>“{name}” is forgotten. Undo records it again from its log.</source><translation>已遗忘“{name}”。撤销会从其日志重新记录。</translation></message>
    <message><source>“{name}” is not mentioned any more.</source><translation>不再提示“{name}”。</translation></message>
    <message><source>“{name}” was changed again since.</source><translation>“{name}”此后又被更改。</translation></message>
    <message><source>“{name}” was changed.</source><translation>“{name}”已更改。</translation></message>
    <message><source>“{name}” was refused.</source><translation>已拒绝“{name}”。</translation></message>
    <message><source>“{title}” is being forgotten…</source><translation>正在遗忘“{title}”…</translation></message>
</context>
<context>
    <name>engine</name>
    <message><source>A damaged file is not backed up</source><translation>损坏的文件不会被备份</translation></message>
    <message><source>A file cannot be changed</source><translation>无法更改文件</translation></message>
    <message><source>A file changed meanwhile</source><translation>文件在此期间已更改</translation></message>
    <message><source>A file of the companion's cannot be used</source><translation>程序的一个文件无法使用</translation></message>
    <message><source>A forgotten conversation is still on the shelf</source><translation>已遗忘的会话仍在书架上</translation></message>
    <message><source>A key has only letters, digits and signs, and no spaces.</source><translation>密钥只含字母、数字和符号，没有空格。</translation></message>
    <message><source>A model setting has no effect</source><translation>有一项模型设置不起作用</translation></message>
    <message><source>A part of the companion stopped</source><translation>程序的一部分停止了</translation></message>
    <message><source>A restore was interrupted</source><translation>一次恢复被中断</translation></message>
    <message><source>A setting is wrong</source><translation>有一项设置不正确</translation></message>
    <message><source>A shelf is busy</source><translation>书架正忙</translation></message>
    <message><source>Agents are being connected already</source><translation>正在连接智能体</translation></message>
    <message><source>An export, an import or embedding runs.</source><translation>正在导出、导入或生成向量。</translation></message>
    <message><source>Another command is at it.</source><translation>另一个命令正在进行。</translation></message>
    <message><source>Another program holds {path}.</source><translation>另一个程序占用了 {path}。</translation></message>
    <message><source>Another program is writing to the shelf.</source><translation>另一个程序正在写入此书架。</translation></message>
    <message><source>Bring its folder back or connect it again under Settings, Shelves, or choose another shelf.</source><translation>请恢复其文件夹，或在“设置 › 书架”中重新连接，或选择其他书架。</translation></message>
    <message><source>Change the file by hand, then try again.</source><translation>请手动修改该文件，然后重试。</translation></message>
    <message><source>Check its permissions and the disk.</source><translation>请检查其权限和磁盘。</translation></message>
    <message><source>Check the address of this model in Settings.</source><translation>请在设置中检查此模型的地址。</translation></message>
    <message><source>Check the disk and its connection.</source><translation>请检查磁盘及其连接。</translation></message>
    <message><source>Check the disk that holds the shelf.</source><translation>请检查存放书架的磁盘。</translation></message>
    <message><source>Check the key of this model under Settings, Models.</source><translation>请在“设置 › 模型”中检查此模型的密钥。</translation></message>
    <message><source>Check the name of this model in Settings.</source><translation>请在设置中检查此模型的名称。</translation></message>
    <message><source>Check the network connection.</source><translation>请检查网络连接。</translation></message>
    <message><source>Check the program's path in the settings.</source><translation>请在“设置 › 书架”中检查程序路径。</translation></message>
    <message><source>Check the proxy of this model in Settings, or the one of the system.</source><translation>请检查此模型的代理设置或系统代理。</translation></message>
    <message><source>Choose a model for it: Settings, Shelves, or `shelves model`.</source><translation>请为它选择模型：“设置 › 书架”，或命令 `shelves model`。</translation></message>
    <message><source>Choose a name of letters, digits and dashes.</source><translation>请使用由字母、数字和连字符组成的名称。</translation></message>
    <message><source>Choose a project first.</source><translation>请先选择一个项目。</translation></message>
    <message><source>Choose an empty folder elsewhere.</source><translation>请在别处选择空文件夹。</translation></message>
    <message><source>Choose an empty folder, or connect this one instead.</source><translation>请选择空文件夹，或改为连接此文件夹。</translation></message>
    <message><source>Choose another folder or name.</source><translation>请选择其他文件夹或名称。</translation></message>
    <message><source>Choose another folder.</source><translation>请选择其他文件夹。</translation></message>
    <message><source>Choose another name.</source><translation>请换一个名称。</translation></message>
    <message><source>Choose another one.</source><translation>请另选一个。</translation></message>
    <message><source>Choose another shelf.</source><translation>请选择其他书架。</translation></message>
    <message><source>Choose the folder of a shelf.</source><translation>请选择书架的文件夹。</translation></message>
    <message><source>Close other copies of the companion; it tries again.</source><translation>请关闭其他正在运行的副本；会自动重试。</translation></message>
    <message><source>Codex runs these hooks only after you trusted them: start Codex and answer its question, or type /hooks.</source><translation>Codex 只有在你信任这些钩子后才会运行它们：请启动 Codex 并回答其提问，或输入 /hooks。</translation></message>
    <message><source>Conversations are recorded on “{name}”.</source><translation>会话正记录到“{name}”。</translation></message>
    <message><source>Conversations were recorded on another shelf named “{new}”.</source><translation>会话曾记录到另一个名为“{new}”的书架。</translation></message>
    <message><source>Correct it in Settings or in {path}. {used}</source><translation>请在设置中或在 {path} 中更正。{used}</translation></message>
    <message><source>Correct its base URL in Settings.</source><translation>请在设置中更正其地址。</translation></message>
    <message><source>Correct {path}, or move it away to start anew.</source><translation>请更正 {path}，或将其移走以重新开始。</translation></message>
    <message><source>DSH's memory plugin has no progress for “{shelf}”, or it was taken over before.</source><translation>DSH 的记忆插件在“{shelf}”上没有进度，或此前已接管。</translation></message>
    <message><source>DSH's memory plugin records here already</source><translation>DSH 的记忆插件已在此记录</translation></message>
    <message><source>DSH's memory plugin worked here before</source><translation>DSH 的记忆插件曾在此工作</translation></message>
    <message><source>Enter a key for {label} in Settings, or set {name}.</source><translation>请在设置中填写 {label} 的密钥，或设置环境变量 {name}。</translation></message>
    <message><source>Enter a key for {label} in Settings.</source><translation>请在设置中填写 {label} 的密钥。</translation></message>
    <message><source>Enter a valid key for {label} in Settings.</source><translation>请在设置中填写 {label} 的有效密钥。</translation></message>
    <message><source>Enter its base URL in Settings.</source><translation>请在设置中填写其地址。</translation></message>
    <message><source>Enter its price (models.prices) under Settings, Budget, or remove the limit on money.</source><translation>请在“设置 › 预算”中填写其价格，或取消金额限制。</translation></message>
    <message><source>Enter the name of the model by hand.</source><translation>请手动输入模型名称。</translation></message>
    <message><source>Export it again.</source><translation>请重新导出。</translation></message>
    <message><source>Export it as JSON lines, by its name.</source><translation>请按其名称导出为 JSON 行。</translation></message>
    <message><source>Free some space and try again.</source><translation>请释放一些空间后重试。</translation></message>
    <message><source>Free some space or choose another folder.</source><translation>请腾出一些空间或选择其他文件夹。</translation></message>
    <message><source>Free some space, or check the disk, and try again.</source><translation>请腾出一些空间或检查磁盘，然后重试。</translation></message>
    <message><source>Free some space, then start again.</source><translation>请释放一些空间，然后重新启动。</translation></message>
    <message><source>Free some space.</source><translation>请释放一些空间。</translation></message>
    <message><source>Free some space; nothing is lost meanwhile.</source><translation>请腾出一些空间；期间不会丢失任何内容。</translation></message>
    <message><source>Free some space; the work goes on then.</source><translation>请腾出一些空间，之后会自动继续。</translation></message>
    <message><source>Hypatia cannot import this</source><translation>Hypatia 无法导入此内容</translation></message>
    <message><source>Hypatia is used through its command line</source><translation>正通过命令行使用 Hypatia</translation></message>
    <message><source>IO error</source><translation>读写错误</translation></message>
    <message><source>If it goes on, update Hypatia, or set “binaries” to “built-in” in the settings.</source><translation>如果持续出现，请更新 Hypatia，或在“设置 › 书架”中将 Hypatia 程序设为 built-in。</translation></message>
    <message><source>Import another file.</source><translation>请导入其他文件。</translation></message>
    <message><source>Import it again; what has arrived is left alone.</source><translation>请重新导入；已到达的内容保持不变。</translation></message>
    <message><source>Import it onto a built-in shelf, export that, and import the export.</source><translation>请先导入到内置书架，再导出该书架，然后导入该导出。</translation></message>
    <message><source>Install it, or set {variable} to its folder.</source><translation>请先安装，或将 {variable} 设为其文件夹。</translation></message>
    <message><source>It cannot be removed: {strerror}.</source><translation>无法移除：{strerror}。</translation></message>
    <message><source>It could not be asked. {reason}</source><translation>无法询问。{reason}</translation></message>
    <message><source>It could not be removed: {value}.</source><translation>无法移除：{value}。</translation></message>
    <message><source>It does not answer within {n} seconds.</source><translation>它在 {n} 秒内没有响应。</translation></message>
    <message><source>It does not keep what is stored in it.</source><translation>它没有保留存入的内容。</translation></message>
    <message><source>It ended with status {n}</source><translation>它以状态 {n} 结束</translation></message>
    <message><source>It ended with status {n}.</source><translation>它以状态 {n} 结束。</translation></message>
    <message><source>It goes on at {time}.</source><translation>{time} 继续。</translation></message>
    <message><source>It has a second name (a hard link) that would no longer follow.</source><translation>该文件另有名称（硬链接），更改后将不再同步。</translation></message>
    <message><source>It holds more than one YAML document.</source><translation>文件包含多个 YAML 文档。</translation></message>
    <message><source>It holds no JSON object.</source><translation>文件内容不是 JSON 对象。</translation></message>
    <message><source>It holds {n} MB.</source><translation>它占用 {n} MB。</translation></message>
    <message><source>It is a link to a file that is not there.</source><translation>该链接指向的文件不存在。</translation></message>
    <message><source>It is closed as soon as it is idle. A smaller or remote embedding model needs less.</source><translation>空闲后即关闭。较小或远程的嵌入模型占用更少。</translation></message>
    <message><source>It is locked.</source><translation>它已锁定。</translation></message>
    <message><source>It is nested too deeply.</source><translation>嵌套层次过深。</translation></message>
    <message><source>It is not UTF-8 text.</source><translation>该文件不是 UTF-8 文本。</translation></message>
    <message><source>It is not a YAML list.</source><translation>文件内容不是 YAML 列表。</translation></message>
    <message><source>It is not an ordinary file.</source><translation>它不是普通文件。</translation></message>
    <message><source>It is not from the companion, so it stays as it is.</source><translation>它不是由本程序写入的，因此保持原样。</translation></message>
    <message><source>It is not known where this belongs.</source><translation>尚不清楚这属于哪个项目。</translation></message>
    <message><source>It is not valid JSON ({error}).</source><translation>不是有效的 JSON（{error}）。</translation></message>
    <message><source>It is not valid TOML ({error}).</source><translation>不是有效的 TOML（{error}）。</translation></message>
    <message><source>It is not valid YAML near line {line}.</source><translation>第 {line} 行附近不是有效的 YAML。</translation></message>
    <message><source>It is read-only.</source><translation>文件为只读。</translation></message>
    <message><source>It is removed when the shelf is used next.</source><translation>下次使用该书架时会将其移除。</translation></message>
    <message><source>It is still there.</source><translation>它仍然存在。</translation></message>
    <message><source>It is too large.</source><translation>文件过大。</translation></message>
    <message><source>It is tried again by itself.</source><translation>会自动重试。</translation></message>
    <message><source>It is tried again every {n} s. {advice}</source><translation>每 {n} 秒重试一次。{advice}</translation></message>
    <message><source>It must be {value}.</source><translation>必须是{value}。</translation></message>
    <message><source>It must be {value}.{hint}</source><translation>必须是{value}。{hint}</translation></message>
    <message><source>It stopped {n} times within {seconds} s. {said}</source><translation>它在 {seconds} 秒内停止了 {n} 次。{said}</translation></message>
    <message><source>It takes its own exports only, and this is a file of lines.</source><translation>它只接受自己的导出，而这是逐行文件。</translation></message>
    <message><source>It was changed since it was written; remove it yourself.</source><translation>写入后已被更改，请自行移除。</translation></message>
    <message><source>It was not ready within {n} s. {said}</source><translation>它在 {n} 秒内未就绪。{said}</translation></message>
    <message><source>It was stopped, as {why}</source><translation>它被停止，因为 {why}</translation></message>
    <message><source>It was stopped, as {why}.</source><translation>它被停止，因为 {why}。</translation></message>
    <message><source>Its files cannot be replaced while it works on them.</source><translation>它工作时不能替换它的文件。</translation></message>
    <message><source>Its list is written in brackets.</source><translation>其列表以方括号形式书写。</translation></message>
    <message><source>Its name or that of a folder it lies in is no text; rename that.</source><translation>它或它所在文件夹的名称不是文本；请将其重命名。</translation></message>
    <message><source>Keep the key for this session only, put it into a private file, or set an environment variable.</source><translation>请选择仅保留到程序退出、保存在私有文件中，或设置环境变量。</translation></message>
    <message><source>Key not stored</source><translation>密钥未保存</translation></message>
    <message><source>Less than {value} MB are free where {folder} is; soon nothing can be recorded.</source><translation>{folder} 所在磁盘的可用空间不足 {value} MB；很快将无法记录。</translation></message>
    <message><source>Limit reached</source><translation>已达到限额</translation></message>
    <message><source>Limit too small</source><translation>限额过小</translation></message>
    <message><source>Look at Settings, Models.</source><translation>请查看“设置 › 模型”。</translation></message>
    <message><source>Look at the change again.</source><translation>请重新查看更改。</translation></message>
    <message><source>Look at the list of settings.</source><translation>请查看设置列表。</translation></message>
    <message><source>Make room and import again.</source><translation>请腾出空间后重新导入。</translation></message>
    <message><source>Make sure that you own {path} and may write there, then start again.</source><translation>请确认你拥有 {path} 且可以写入，然后重新启动。</translation></message>
    <message><source>Make the folder first.</source><translation>请先建立该文件夹。</translation></message>
    <message><source>Make the folder writable, or set HYPATIA_COMPANION_HOME to another one.</source><translation>请让该文件夹可写，或将 HYPATIA_COMPANION_HOME 设为其他文件夹。</translation></message>
    <message><source>Make {path} readable for you.</source><translation>请让你能读取 {path}。</translation></message>
    <message><source>Make {path} writable for you.</source><translation>请让你能写入 {path}。</translation></message>
    <message><source>Many of its new records are of kinds the companion does not know ({kind}); some words may be missing.</source><translation>它的许多新记录属于本程序不认识的类型（{kind}），可能有内容缺失。</translation></message>
    <message><source>Move away what stands there, or give yourself the right to write it, then start again.</source><translation>请移走占用该位置的内容，或为自己授予写入权限，然后重新启动。</translation></message>
    <message><source>Name a file that `backup` wrote.</source><translation>请指定由 `backup` 写出的文件。</translation></message>
    <message><source>Name a file.</source><translation>请指定一个文件。</translation></message>
    <message><source>Name one of them.</source><translation>请指定其中之一。</translation></message>
    <message><source>Name one.</source><translation>请指定其中一个。</translation></message>
    <message><source>No answer within {n} s; the server was stopped.</source><translation>{n} 秒内没有响应；已停止该服务。</translation></message>
    <message><source>No message was found in many of its new records; what is said there may be missing.</source><translation>在它的许多新记录中没有找到任何消息，其中所说的内容可能缺失。</translation></message>
    <message><source>No model can be asked</source><translation>没有可用的模型</translation></message>
    <message><source>No model can be asked now</source><translation>现在没有可用的模型</translation></message>
    <message><source>No names of models</source><translation>没有模型名称</translation></message>
    <message><source>No network</source><translation>没有网络</translation></message>
    <message><source>No place for the companion's files</source><translation>没有存放本程序文件的位置</translation></message>
    <message><source>No place for the control socket</source><translation>没有放置控制套接字的位置</translation></message>
    <message><source>Nobody expected the error that ended this; the companion's log holds it.</source><translation>处理因意外错误而终止，详情见程序日志。</translation></message>
    <message><source>Nobody knows what {route} costs, so its cost cannot be kept below your limit.</source><translation>不知道 {route} 的价格，因此无法把费用控制在限额之内。</translation></message>
    <message><source>Nothing complete has been written to this log yet.</source><translation>此日志中还没有完整的内容。</translation></message>
    <message><source>Nothing to import</source><translation>没有可导入的内容</translation></message>
    <message><source>On the shelf “{shelf}” it has come some way with {conversations} conversations.</source><translation>它在书架“{shelf}”上已处理过 {conversations} 个会话。</translation></message>
    <message><source>Only one copy can work on the same files.</source><translation>同一批文件只能由一个程序处理。</translation></message>
    <message><source>Open Review to retry or discard it.</source><translation>请打开“待处理”重试或丢弃。</translation></message>
    <message><source>Our entry could not be added without changing something else.</source><translation>无法在不影响其他内容的情况下加入本程序的条目。</translation></message>
    <message><source>Our entry could not be taken out without changing something else.</source><translation>无法在不影响其他内容的情况下移除本程序的条目。</translation></message>
    <message><source>Our row could not be added without changing something else.</source><translation>无法在不影响其他内容的情况下加入本程序的行。</translation></message>
    <message><source>Our row could not be taken out without changing something else.</source><translation>无法在不影响其他内容的情况下移除本程序的行。</translation></message>
    <message><source>Our table could not be added without changing something else.</source><translation>无法在不影响其他内容的情况下加入本程序的表。</translation></message>
    <message><source>Our table could not be taken out without changing something else.</source><translation>无法在不影响其他内容的情况下移除本程序的表。</translation></message>
    <message><source>Paste it again.</source><translation>请重新粘贴。</translation></message>
    <message><source>Price not known</source><translation>价格未知</translation></message>
    <message><source>Put its last good copy back: hypatia-companion restore --last-good. Move this file away if there is none, and start again; what is on the shelf stays.</source><translation>请恢复它最后一份完好的副本：hypatia-companion restore --last-good。如果没有副本，请移走此文件并重新启动；书架上的内容不受影响。</translation></message>
    <message><source>Put the last good copy back first: hypatia-companion restore --last-good</source><translation>请先恢复最后一份完好的副本：hypatia-companion restore --last-good</translation></message>
    <message><source>Quit it from its menu (or end `hypatia-companion run`), then try again.</source><translation>请从菜单退出它（或结束 `hypatia-companion run`），然后重试。</translation></message>
    <message><source>Raise it under Settings, Budget, or send less text per summary.</source><translation>请在“设置 › 预算”中提高限额，或减少每个摘要发送的文本。</translation></message>
    <message><source>Remove it.</source><translation>请将其移除。</translation></message>
    <message><source>Remove it; what is connected is then recognised by its name.</source><translation>请删除该文件；已连接的内容将按名称识别。</translation></message>
    <message><source>Rename or remove it, then connect again.</source><translation>请重命名或删除它，然后重新连接。</translation></message>
    <message><source>Restore a backup, or move the damaged file away and start again; what is on the shelf stays.</source><translation>请恢复一份备份，或移走损坏的文件后重新启动；书架上的内容不受影响。</translation></message>
    <message><source>Retry, or put another model first under Settings, Models.</source><translation>请重试，或在“设置 › 模型”中将其他模型放在首位。</translation></message>
    <message><source>Retry, or raise “Length of an answer” under Settings, Models.</source><translation>请重试，或在“设置 › 模型”中提高“回答长度”。</translation></message>
    <message><source>Retry.</source><translation>请重试。</translation></message>
    <message><source>Save {path} as UTF-8.</source><translation>请将 {path} 保存为 UTF-8。</translation></message>
    <message><source>See Settings, Models.</source><translation>请查看“设置 › 模型”。</translation></message>
    <message><source>Set a proxy that begins with http://, https:// or socks5://, in Settings or as HTTPS_PROXY.</source><translation>请在设置中或通过 HTTPS_PROXY 设置以 http://、https:// 或 socks5:// 开头的代理。</translation></message>
    <message><source>Setting not saved</source><translation>设置未保存</translation></message>
    <message><source>Settings not read</source><translation>无法读取设置</translation></message>
    <message><source>Something needs you</source><translation>有事项等待你处理</translation></message>
    <message><source>Start it again to go on.</source><translation>再次开始即可继续。</translation></message>
    <message><source>Start it again.</source><translation>请重新启动程序。</translation></message>
    <message><source>Start the companion once, then back up again.</source><translation>请先启动一次本程序，然后再备份。</translation></message>
    <message><source>Start the companion.</source><translation>请启动本程序。</translation></message>
    <message><source>Start {label}.</source><translation>请启动 {label}。</translation></message>
    <message><source>Stop it or wait for it.</source><translation>请停止它，或等它结束。</translation></message>
    <message><source>Stopped</source><translation>已停止</translation></message>
    <message><source>Switch the plugin off in DSH, or record on another shelf.</source><translation>请在 DSH 中关闭该插件，或记录到其他书架。</translation></message>
    <message><source>Take that over, so that nothing is summarised and paid for twice.</source><translation>接管其进度，以免重复总结和付费。</translation></message>
    <message><source>The archive of “{name}” failed and waits in Review.</source><translation>“{name}”的归档失败，正在“待处理”中等待。</translation></message>
    <message><source>The backup was not restored</source><translation>备份未恢复</translation></message>
    <message><source>The backup was not written</source><translation>备份未写入</translation></message>
    <message><source>The companion does not answer</source><translation>程序没有响应</translation></message>
    <message><source>The companion is already running</source><translation>程序已在运行</translation></message>
    <message><source>The companion is ending it.</source><translation>程序正在结束它。</translation></message>
    <message><source>The companion is running</source><translation>本程序正在运行</translation></message>
    <message><source>The companion's folders cannot be used</source><translation>无法使用本程序的文件夹</translation></message>
    <message><source>The companion's log says more.</source><translation>详情见程序的日志。</translation></message>
    <message><source>The companion's own file belongs to a newer version</source><translation>程序自己的文件属于更新的版本</translation></message>
    <message><source>The companion's own file cannot be opened</source><translation>无法打开程序自己的文件</translation></message>
    <message><source>The companion's own file is damaged</source><translation>程序自己的文件已损坏</translation></message>
    <message><source>The companion's own file is in use</source><translation>程序自己的文件正被占用</translation></message>
    <message><source>The companion's own file is only read here</source><translation>本程序自己的文件在此只读</translation></message>
    <message><source>The conversation was worked on since, or a newer task stands in its place.</source><translation>此后该会话又有处理，或已有更新的任务取代了它。</translation></message>
    <message><source>The copy was not put back</source><translation>副本未恢复</translation></message>
    <message><source>The disk fails</source><translation>磁盘出错</translation></message>
    <message><source>The disk is full</source><translation>磁盘已满</translation></message>
    <message><source>The disk is nearly full</source><translation>磁盘快满了</translation></message>
    <message><source>The disk is too full</source><translation>磁盘剩余空间不足</translation></message>
    <message><source>The disk reported an error.</source><translation>磁盘报告了错误。</translation></message>
    <message><source>The entries were not imported</source><translation>条目未导入</translation></message>
    <message><source>The export was not written</source><translation>导出未写入</translation></message>
    <message><source>The files are half replaced.</source><translation>文件只替换了一半。</translation></message>
    <message><source>The files were not imported</source><translation>文件未导入</translation></message>
    <message><source>The import is not complete</source><translation>导入不完整</translation></message>
    <message><source>The key for {label} holds characters that no key has.</source><translation>{label} 的密钥含有密钥中不会出现的字符。</translation></message>
    <message><source>The key “{twice}” stands twice in one object.</source><translation>键“{twice}”在同一对象中出现两次。</translation></message>
    <message><source>The key “{value}” stands twice in one mapping.</source><translation>键“{value}”在同一映射中出现两次。</translation></message>
    <message><source>The limit</source><translation>限额</translation></message>
    <message><source>The list has {n}.</source><translation>列表中有 {n} 个。</translation></message>
    <message><source>The list of what was changed in agents is damaged</source><translation>智能体更改记录已损坏</translation></message>
    <message><source>The marks around our lines are damaged.</source><translation>本程序内容前后的标记已损坏。</translation></message>
    <message><source>The model is not used</source><translation>未能使用该模型</translation></message>
    <message><source>The name {host} is not known, so {label} cannot be reached.</source><translation>找不到主机名 {host}，因此无法连接 {label}。</translation></message>
    <message><source>The proxy set for this model or for this system is of a kind that is not supported.</source><translation>为此模型或系统设置的代理类型不受支持。</translation></message>
    <message><source>The proxy {where} does not answer.</source><translation>代理 {where} 没有响应。</translation></message>
    <message><source>The proxy {where} lets nobody through to {place}.</source><translation>代理 {where} 不允许访问 {place}。</translation></message>
    <message><source>The recording of “{name}” failed and waits in Review.</source><translation>“{name}”的记录失败，正在“待处理”中等待。</translation></message>
    <message><source>The restore before was not ended</source><translation>上一次恢复尚未完成</translation></message>
    <message><source>The shelf cannot be read from the disk.</source><translation>无法从磁盘读取书架。</translation></message>
    <message><source>The shelf cannot be written</source><translation>无法写入书架</translation></message>
    <message><source>The shelf did not answer</source><translation>书架没有响应</translation></message>
    <message><source>The shelf does not say how it is</source><translation>书架没有说明其状态</translation></message>
    <message><source>The shelf entry of “{name}” failed and waits in Review.</source><translation>“{name}”的书架条目失败，正在“待处理”中等待。</translation></message>
    <message><source>The shelf is closed</source><translation>书架已关闭</translation></message>
    <message><source>The shelf is not connected</source><translation>书架未连接</translation></message>
    <message><source>The shelf server cannot start</source><translation>书架服务无法启动</translation></message>
    <message><source>The shelf server keeps stopping</source><translation>书架服务反复停止</translation></message>
    <message><source>The shelf server stopped</source><translation>书架服务停止了</translation></message>
    <message><source>The shelf server uses much memory</source><translation>书架服务占用内存较多</translation></message>
    <message><source>The shelf was not changed</source><translation>书架未更改</translation></message>
    <message><source>The shelf was not made</source><translation>未能创建书架</translation></message>
    <message><source>The shelf “{name}” lies in a folder of yours; it stays.</source><translation>书架“{name}”位于你自己的文件夹中，予以保留。</translation></message>
    <message><source>The summary of “{name}” failed and waits in Review.</source><translation>“{name}”的摘要失败，正在“待处理”中等待。</translation></message>
    <message><source>The system's keyring cannot be used. {why}</source><translation>无法使用系统钥匙串。{why}</translation></message>
    <message><source>The table was not written</source><translation>未能写入表格</translation></message>
    <message><source>The task was not brought back</source><translation>任务未能恢复</translation></message>
    <message><source>The vectors were not made</source><translation>未能生成向量</translation></message>
    <message><source>The work on “{name}” failed and waits in Review.</source><translation>“{name}”的处理失败，正在“待处理”中等待。</translation></message>
    <message><source>There are files in it that are not ours.</source><translation>其中有不属于本程序的文件。</translation></message>
    <message><source>There is neither {home} nor a program {value}.</source><translation>既没有 {home}，也没有程序 {value}。</translation></message>
    <message><source>There is no copy of the companion's own file</source><translation>没有本程序自身文件的副本</translation></message>
    <message><source>There is no key for {label}.</source><translation>没有 {label} 的密钥。</translation></message>
    <message><source>There is no setting {key}.</source><translation>没有名为 {key} 的设置。</translation></message>
    <message><source>There is no such agent</source><translation>没有这个智能体</translation></message>
    <message><source>There is no such model</source><translation>没有这个模型</translation></message>
    <message><source>There is nothing to back up</source><translation>没有可备份的内容</translation></message>
    <message><source>There is nothing to take over</source><translation>没有可接管的内容</translation></message>
    <message><source>These entries cannot be read</source><translation>无法读取这些条目</translation></message>
    <message><source>This Hypatia is too old</source><translation>此 Hypatia 版本过旧</translation></message>
    <message><source>This backup cannot be used</source><translation>此备份无法使用</translation></message>
    <message><source>This can no longer be taken back</source><translation>已无法撤销</translation></message>
    <message><source>This cannot be read ({why}); check its permissions.</source><translation>无法读取（{why}）；请检查其权限。</translation></message>
    <message><source>This conversation was written by a newer DSH; update the companion to read it.</source><translation>此会话由更新的 DSH 写入；请更新本程序后读取。</translation></message>
    <message><source>This folder cannot take an export</source><translation>此文件夹无法存放导出</translation></message>
    <message><source>This folder is in use</source><translation>此文件夹已有内容</translation></message>
    <message><source>This is no shelf</source><translation>这不是书架</translation></message>
    <message><source>This model is not in the list any more.</source><translation>此模型已不在列表中。</translation></message>
    <message><source>This provider has no address of its own.</source><translation>此提供商没有自己的地址。</translation></message>
    <message><source>This shelf is in use</source><translation>此书架正在使用</translation></message>
    <message><source>This shelf name cannot be used</source><translation>不能使用此书架名称</translation></message>
    <message><source>This start is not understood</source><translation>无法理解此起点</translation></message>
    <message><source>This system has no keyring that protects keys.</source><translation>此系统没有能保护密钥的钥匙串。</translation></message>
    <message><source>Too much time has passed, or it was taken back already.</source><translation>时间过久，或已经撤销过。</translation></message>
    <message><source>Top up at {label}, or wait.</source><translation>请到 {label} 充值，或等待。</translation></message>
    <message><source>Try again in a moment.</source><translation>请稍后再试。</translation></message>
    <message><source>Try again later.</source><translation>请稍后再试。</translation></message>
    <message><source>Try again.</source><translation>请重试。</translation></message>
    <message><source>Try again; `hypatia-companion doctor` looks closer.</source><translation>请重试；`hypatia-companion doctor` 会做更细的检查。</translation></message>
    <message><source>Try it again; if it fails once more, report it with the companion's log.</source><translation>请重试；若再次失败，请附上程序日志报告。</translation></message>
    <message><source>Try other words, or try again later.</source><translation>请尝试其他词语，或稍后再试。</translation></message>
    <message><source>Two writers on the shelf “{shelf}” would summarise and pay for everything twice, so nothing is recorded now.</source><translation>书架“{shelf}”若有两个写入者，一切都会被总结并付费两次，因此现在不记录。</translation></message>
    <message><source>Type the address.</source><translation>请填写地址。</translation></message>
    <message><source>Until then this entry is left out.</source><translation>在此之前忽略该项。</translation></message>
    <message><source>Until then {value} is used.</source><translation>在此之前使用 {value}。</translation></message>
    <message><source>Update Hypatia, or set “binaries” to “built-in” in the settings.</source><translation>请更新 Hypatia，或在“设置 › 书架”中将 Hypatia 程序设为 built-in。</translation></message>
    <message><source>Update the companion, then restore.</source><translation>请更新本程序，然后再恢复。</translation></message>
    <message><source>Update the companion.</source><translation>请更新本程序。</translation></message>
    <message><source>Use Summarise now for what is left of it.</source><translation>请对剩余部分使用“立即总结”。</translation></message>
    <message><source>Use another backup.</source><translation>请使用另一份备份。</translation></message>
    <message><source>Use another first.</source><translation>请先改用其他书架。</translation></message>
    <message><source>Use the one that runs.</source><translation>请使用正在运行的那个。</translation></message>
    <message><source>Wait, or raise the limit at {label}.</source><translation>请等待，或在 {label} 提高限额。</translation></message>
    <message><source>Wait, or raise the limit under Settings, Budget.</source><translation>请等待，或在“设置 › 预算”中提高限额。</translation></message>
    <message><source>What was done so far stays as it is.</source><translation>已完成的部分保持不变。</translation></message>
    <message><source>What would be done now is not what was shown.</source><translation>现在将要进行的更改与之前显示的不同。</translation></message>
    <message><source>Which project?</source><translation>属于哪个项目？</translation></message>
    <message><source>Write it like 7d.</source><translation>请写成 7d 的形式。</translation></message>
    <message><source>a name without spaces</source><translation>不含空格的名称</translation></message>
    <message><source>a number of at least {low}</source><translation>不小于 {low} 的数</translation></message>
    <message><source>a shelf in it is missing ({below})</source><translation>其中缺少一个书架（{below}）</translation></message>
    <message><source>a whole number from {low} to {high}</source><translation>{low} 到 {high} 的整数</translation></message>
    <message><source>a whole number of at least {low}</source><translation>不小于 {low} 的整数</translation></message>
    <message><source>cannot start</source><translation>无法启动</translation></message>
    <message><source>config error</source><translation>配置错误</translation></message>
    <message><source>crash loop</source><translation>反复崩溃</translation></message>
    <message><source>it does not hold exactly the files it lists</source><translation>其中的文件与清单不符</translation></message>
    <message><source>it has no “{name}” command</source><translation>它没有“{name}”命令</translation></message>
    <message><source>it holds a file that has no place in a backup ({name})</source><translation>其中有一个不属于备份的文件（{name}）</translation></message>
    <message><source>it holds fewer entries than its manifest says</source><translation>其中的条目少于清单所列</translation></message>
    <message><source>it is damaged ({kind})</source><translation>它已损坏（{kind}）</translation></message>
    <message><source>it is damaged or no backup ({error})</source><translation>它已损坏或不是备份（{error}）</translation></message>
    <message><source>it is in a newer format</source><translation>它的格式较新</translation></message>
    <message><source>it is in the layout of an older Hypatia</source><translation>它采用旧版 Hypatia 的布局</translation></message>
    <message><source>it is neither a shelf nor an export</source><translation>它既不是书架，也不是导出文件</translation></message>
    <message><source>it is no backup of the companion</source><translation>它不是本程序的备份</translation></message>
    <message><source>it is not complete</source><translation>它不完整</translation></message>
    <message><source>it is not there</source><translation>它不存在</translation></message>
    <message><source>it lacks {tools}</source><translation>它缺少 {tools}</translation></message>
    <message><source>it refuses the handshake ({why})</source><translation>它拒绝握手（{why}）</translation></message>
    <message><source>it was made by a newer version</source><translation>它由更新的版本生成</translation></message>
    <message><source>it was written by a newer program</source><translation>它由更新的程序写入</translation></message>
    <message><source>its database is missing: {path}</source><translation>缺少数据库：{path}</translation></message>
    <message><source>its folder is missing: {path}</source><translation>缺少文件夹：{path}</translation></message>
    <message><source>its list of files cannot be read</source><translation>其中的文件清单无法读取</translation></message>
    <message><source>its list of shelves cannot be read</source><translation>其中的书架清单无法读取</translation></message>
    <message><source>its message repeats text of the conversation and is left out</source><translation>其消息重复了会话内容，故略去</translation></message>
    <message><source>keyring: {name}</source><translation>密钥库：{name}</translation></message>
    <message><source>no answer within {n} s</source><translation>{n} 秒内没有回答</translation></message>
    <message><source>one of {choices}</source><translation>{choices} 之一</translation></message>
    <message><source>text on one line</source><translation>单行文本</translation></message>
    <message><source>the answer broke off</source><translation>回答中断</translation></message>
    <message><source>the answer did not come in time</source><translation>回答没有及时到达</translation></message>
    <message><source>the answer is empty</source><translation>回答为空</translation></message>
    <message><source>the answer is longer than 8 MiB</source><translation>回答超过 8 MiB</translation></message>
    <message><source>the answer is not in the form of a chat completion</source><translation>回答不是聊天补全的格式</translation></message>
    <message><source>the answer was cut at its limit</source><translation>回答达到长度上限被截断</translation></message>
    <message><source>the model reported an error</source><translation>模型报告了错误</translation></message>
    <message><source>the model stopped with “{finish}”</source><translation>模型以“{finish}”停止</translation></message>
    <message><source>the model's answer was not the JSON it was asked for, or nothing in it stands in the conversation</source><translation>模型的回答不是所要求的 JSON，或其中没有任何内容出自这段对话</translation></message>
    <message><source>the server does not know it, or cannot open its folder</source><translation>服务不认识它，或无法打开其文件夹</translation></message>
    <message><source>this shelf is in the layout of an older Hypatia; open it there once</source><translation>此书架使用旧版 Hypatia 的格式；请先在那里打开一次</translation></message>
    <message><source>this shelf was written by another program; import it instead of sharing it</source><translation>此书架由其他程序写入；请导入它，而不是共用</translation></message>
    <message><source>true or false</source><translation>true 或 false</translation></message>
    <message><source>unsupported SQLite schema version; use a compatible binary</source><translation>不支持的 SQLite 格式版本；请使用兼容的程序</translation></message>
    <message><source>{copy} is not there.</source><translation>{copy} 不存在。</translation></message>
    <message><source>{data} holds no memory yet.</source><translation>{data} 中还没有任何记忆。</translation></message>
    <message><source>{destination} is not empty, or lies inside what is exported.</source><translation>{destination} 不为空，或位于要导出的内容之中。</translation></message>
    <message><source>{file} holds no shelf</source><translation>{file} 中没有书架</translation></message>
    <message><source>{file} is damaged.</source><translation>{file} 已损坏。</translation></message>
    <message><source>{folder} belongs to someone else.</source><translation>{folder} 属于其他用户。</translation></message>
    <message><source>{folder} cannot be made: {why}.</source><translation>无法创建 {folder}：{why}。</translation></message>
    <message><source>{key} has a wrong entry {n}: {why}.</source><translation>{key} 的第 {n} 项不正确：{why}。</translation></message>
    <message><source>{key} must be {bounds}, not {value}.</source><translation>{key} 必须是 {bounds}，而不是 {value}。</translation></message>
    <message><source>{label} answered in {n} s.</source><translation>{label} 在 {n} 秒内回答。</translation></message>
    <message><source>{label} answered with a web page.</source><translation>{label} 返回的是网页。</translation></message>
    <message><source>{label} answered {status}</source><translation>{label} 返回了 {status}</translation></message>
    <message><source>{label} at {place} does not speak TLS.</source><translation>{place} 上的 {label} 不支持 TLS。</translation></message>
    <message><source>{label} at {place} has a certificate that is not trusted.</source><translation>{place} 上的 {label} 使用不受信任的证书。</translation></message>
    <message><source>{label} cannot be asked at {url}: {error}</source><translation>无法在 {url} 询问 {label}：{error}</translation></message>
    <message><source>{label} cannot be reached at {place}.</source><translation>无法在 {place} 连接 {label}。</translation></message>
    <message><source>{label} cannot be reached: there is no network connection.</source><translation>无法连接 {label}：没有网络连接。</translation></message>
    <message><source>{label} does not answer at {place}.</source><translation>{label} 在 {place} 没有响应。</translation></message>
    <message><source>{label} gave no whole answer: {why}.</source><translation>{label} 没有给出完整回答：{why}。</translation></message>
    <message><source>{label} has an address that cannot be used: {address}</source><translation>{label} 的地址无法使用：{address}</translation></message>
    <message><source>{label} is not a known provider and has no address.</source><translation>{label} 不是已知的提供方，也没有地址。</translation></message>
    <message><source>{label} lists no models there.</source><translation>{label} 在该地址没有列出模型。</translation></message>
    <message><source>{label} refused the key ({status})</source><translation>{label} 拒绝了密钥（{status}）</translation></message>
    <message><source>{label} says that its quota or balance is used up ({status})</source><translation>{label} 表示额度或余额已用完（{status}）</translation></message>
    <message><source>{label} says that its quota or balance is used up ({status}){tail}</source><translation>{label} 表示配额或余额已用完（{status}）{tail}</translation></message>
    <message><source>{label} says, in place of an answer, that a limit is reached.</source><translation>{label} 没有回答，而是表示已达到限额。</translation></message>
    <message><source>{name} cannot be read.</source><translation>无法读取 {name}。</translation></message>
    <message><source>{name} cannot be read: {why}.</source><translation>无法读取 {name}：{why}。</translation></message>
    <message><source>{name} in it is damaged</source><translation>其中的 {name} 已损坏</translation></message>
    <message><source>{name} in it is not what was backed up</source><translation>其中的 {name} 与备份时不同</translation></message>
    <message><source>{name} is blank, or holds a space or a control character.</source><translation>{name} 为空，或含有空格或控制字符。</translation></message>
    <message><source>{name} is no JSON value.</source><translation>{name} 不是 JSON 值。</translation></message>
    <message><source>{name} is not the file that was exported</source><translation>{name} 不是当初导出的文件</translation></message>
    <message><source>{name} is not written as TOML: {why}.</source><translation>{name} 不是有效的 TOML：{why}。</translation></message>
    <message><source>{name} writes its conversations otherwise</source><translation>{name} 写会话的方式变了</translation></message>
    <message><source>{n} calls per hour</source><translation>每小时 {n} 次调用</translation></message>
    <message><source>{n} tokens per day</source><translation>每日 {n} 个 token</translation></message>
    <message><source>{n} tokens per hour</source><translation>每小时 {n} 个 token</translation></message>
    <message><source>{n} {currency} per day</source><translation>每日 {n} {currency}</translation></message>
    <message><source>{n} {currency} per hour</source><translation>每小时 {n} {currency}</translation></message>
    <message><source>{of} of {limit} is less than one call may take ({need}).</source><translation>{of}（{limit}）低于一次调用可能的用量（{need}）。</translation></message>
    <message><source>{of} of {limit} is used up ({taken}).</source><translation>{of}（{limit}）已用完（{taken}）。</translation></message>
    <message><source>{parent} is not there.</source><translation>{parent} 不存在。</translation></message>
    <message><source>{path} cannot be read: {why}.</source><translation>无法读取 {path}：{why}。</translation></message>
    <message><source>{path} cannot be read; it was left as it is.</source><translation>无法读取 {path}；文件保持原样。</translation></message>
    <message><source>{path} cannot be written.</source><translation>无法写入 {path}。</translation></message>
    <message><source>{path} cannot be written: {why}.</source><translation>无法写入 {path}：{why}。</translation></message>
    <message><source>{path} could not be read or written.</source><translation>无法读写 {path}。</translation></message>
    <message><source>{path} could not be written.</source><translation>无法写入 {path}。</translation></message>
    <message><source>{path} has something else under our name</source><translation>{path} 中已有其他内容占用了本程序的名称</translation></message>
    <message><source>{path} holds an export already.</source><translation>{path} 中已有一份导出。</translation></message>
    <message><source>{path} is another process's.</source><translation>{path} 属于另一个进程。</translation></message>
    <message><source>{path} is missing, or it or its folder may not be written.</source><translation>{path} 不存在，或者它或其文件夹不可写。</translation></message>
    <message><source>{path} is not empty.</source><translation>{path} 不是空文件夹。</translation></message>
    <message><source>{path} is not what was shown.</source><translation>{path} 与之前显示的内容不同。</translation></message>
    <message><source>{path} was left as it is</source><translation>{path} 保持原样</translation></message>
    <message><source>{path} was written by a newer version, so nothing is recorded now.</source><translation>{path} 由更新的版本写入，因此现在不记录任何内容。</translation></message>
    <message><source>{program} cannot be used: {reason}</source><translation>无法使用 {program}：{reason}</translation></message>
    <message><source>{route} cannot be asked</source><translation>无法询问 {route}</translation></message>
    <message><source>{route}’s limit</source><translation>{route} 的限额</translation></message>
    <message><source>{target} is a folder.</source><translation>{target} 是一个文件夹。</translation></message>
    <message><source>{target} is there and no backup of ours.</source><translation>{target} 已存在，且不是本程序的备份。</translation></message>
    <message><source>{title} has no such part</source><translation>{title} 没有这一部分</translation></message>
    <message><source>{title} is not on this machine</source><translation>此电脑上没有 {title}</translation></message>
    <message><source>{value} entries are missing and {other} differ.</source><translation>缺少 {value} 条，{other} 条不一致。</translation></message>
    <message><source>{value}; every call takes longer this way.</source><translation>{value}；这样每次调用都会更慢。</translation></message>
    <message><source>“mcp_servers” in it has another form than expected.</source><translation>其中“mcp_servers”的形式与预期不符。</translation></message>
    <message><source>“{name}” did not end within {patience} s.</source><translation>“{name}”未在 {patience} 秒内结束。</translation></message>
    <message><source>“{name}” ended by an error that nobody expected; the companion's log holds it.</source><translation>“{name}”因意外错误结束；详情见本程序的日志。</translation></message>
    <message><source>“{name}” is none of {known}.</source><translation>“{name}”不在 {known} 之中。</translation></message>
    <message><source>“{name}” is this shelf itself.</source><translation>“{name}”就是此书架本身。</translation></message>
    <message><source>“{place}” in it has another form than expected.</source><translation>其中“{place}”的形式与预期不符。</translation></message>
    <message><source>“{shelf}”: {why}.</source><translation>“{shelf}”：{why}。</translation></message>
    <message><source>“{start}” is neither now, all, nor a number of days.</source><translation>“{start}”既不是 now、all，也不是天数。</translation></message>
    <message><source>“{word}” is none of the models in the list ({known}).</source><translation>“{word}”不在模型列表中（{known}）。</translation></message>
</context>
</TS>
