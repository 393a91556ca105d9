"""Chat templates in the manner of seven model families, written for these tests, with the added tokens of each family."""

CHATML = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{ messages[0].content + '\\n\\n' }}{% endif %}
    {{- "Functions:\\n" }}
    {%- for tool in tools %}{{ "\\n" ~ (tool | tojson) }}{% endfor %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set state = namespace(open=false) %}
{%- for message in messages %}
    {%- if message.role == 'system' and loop.first %}{% continue %}{% endif %}
    {%- if message.role == 'assistant' %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- generation %}{{ message.content }}{% if message.tool_calls %}{% for call in message.tool_calls %}
{{ '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) + '}\\n</tool_call>' }}
        {%- endfor %}{% endif %}{{ '<|im_end|>' }}{% endgeneration %}
        {{- '\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if not state.open %}{{ '<|im_start|>user' }}{% set state.open = true %}{% endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\\n' }}{% set state.open = false %}{% endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LLAMA = """\
{{- bos_token }}
{%- macro turn(role, content) %}
{{- '<|start_header_id|>' ~ role ~ '<|end_header_id|>\\n\\n' ~ (content | trim) ~ '<|eot_id|>' }}
{%- endmacro %}
{%- for message in messages %}{{ turn(message['role'], message['content']) }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

MISTRAL = """\
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] %}{% set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}{% set turns = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in turns %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('the roles must alternate') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- set before = system + '\\n\\n' if loop.first and system else '' %}
        {{- '[INST] ' + before + message['content'] + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message['content'].strip() + eos_token }}
    {%- endif %}
{%- endfor %}
"""

GEMMA = """\
{{ bos_token }}{% for message in messages %}
{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{% set body %}{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}
{% for part in message['content'] %}{{ part['text'].split('</think>')[-1] }}{% endfor %}{% endif %}{% endset %}
{{ ['<start_of_turn>', role, '\\n', body] | join }}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""

PHI = """\
{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message %}
{{ '<|system|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|><|end|>' }}{% else %}
{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ '<|endoftext|>' }}{% endif %}"""

DEEPSEEK = """\
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}{{ '<｜User｜>' + message.content }}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content %}
        {%- if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}
        {{- '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}
        {%- for call in message.tool_calls or [] %}
            {{- '<｜tool▁call▁begin｜>' + call.name + '<｜tool▁sep｜>' + (call.arguments | tojson) + '<｜tool▁call▁end｜>' }}
        {%- endfor %}
    {%- else %}{{ message.content }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}
"""

HARMONY = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}
        {%- for call in message.tool_calls or [] %}
            {{- '<|start|>assistant to=functions.' + call.name + '<|channel|>commentary json<|message|>' }}
            {{- (call.arguments | tojson) + '<|call|>' }}
        {%- endfor %}
    {%- else %}{{ '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}
"""

# The same structures with the text of the assistant in `{% generation %}`, for five families.
MASKED = {
    "chatml": """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}
    {%- else %}{{ message.content + '<|im_end|>' }}{% endif %}
    {{- '\\n' }}
{%- endfor %}""",
    "llama": """\
{{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' ~ message['role'] ~ '<|end_header_id|>\\n\\n' }}
    {%- if message['role'] == 'assistant' %}
        {%- generation %}{{ message['content'] | trim ~ '<|eot_id|>' }}{% endgeneration %}
    {%- else %}{{ message['content'] | trim ~ '<|eot_id|>' }}{% endif %}
{%- endfor %}""",
    "mistral": """\
{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}
    {%- else %}{% generation %}{{ ' ' + message['content'].strip() + eos_token }}{% endgeneration %}{% endif %}
{%- endfor %}""",
    "deepseek": """\
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}{{ '<｜User｜>' + message.content }}
    {%- else %}
        {%- set content = message.content.split('</think>')[-1] %}
        {{- '<｜Assistant｜>' }}{% generation %}{{ content + '<｜end▁of▁sentence｜>' }}{% endgeneration %}
    {%- endif %}
{%- endfor %}""",
    "gemma": """\
{{ bos_token }}{% for message in messages %}
{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' }}
{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] | trim }}<end_of_turn>{% endgeneration %}
{% else %}{{ message['content'] | trim }}<end_of_turn>{% endif %}
{{ '\\n' }}{% endfor %}""",
}

# For each family: the template, and the special tokens of its files.
FAMILIES = {
    "chatml": (
        CHATML,
        [
            *(
                "<|im_start|>",
                "<|im_end|>",
                "<|endoftext|>",
                "<|object_ref_start|>",
                "<|object_ref_end|>",
                "<|box_start|>",
            ),
            *("<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
            *("<|image_pad|>", "<|video_pad|>"),
        ],
    ),
    "llama": (
        LLAMA,
        [
            *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"),
            *("<|reserved_special_token_0|>", "<|finetune_right_pad_id|>", "<|eom_id|>", "<|python_tag|>"),
        ],
    ),
    "mistral": (
        MISTRAL,
        [
            *("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
            *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[PREFIX]", "[SUFFIX]"),
        ],
    ),
    "gemma": (GEMMA, ["<bos>", "<start_of_turn>", "<end_of_turn>", "<eos>", "<pad>", "<mask>"]),
    "phi": (PHI, ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>", "<|tool|>", "<|/tool|>"]),
    "deepseek": (DEEPSEEK, ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"]),
    "harmony": (
        HARMONY,
        [
            *("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>", "<|constrain|>"),
            *("<|startoftext|>", "<|endoftext|>", "<|endofprompt|>"),
        ],
    ),
}
NAMES = {
    "llama": {"bos_token": "<|begin_of_text|>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
    "gemma": {"bos_token": "<bos>"},
    "deepseek": {"bos_token": "<｜begin▁of▁sentence｜>"},
}
# Added tokens that the family's files do not mark as special: Qwen's and DeepSeek-R1's marks, and Gemma's words and
# white space.
NOT_SPECIAL = {
    "chatml": [
        *(
            "<tool_call>",
            "</tool_call>",
            "<tool_response>",
            "</tool_response>",
            "<think>",
            "</think>",
            "<|fim_prefix|>",
        ),
        *("<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
    ],
    "gemma": ["\n\n", "\n\n\n", "  ", "▁▁", "<table>", "</table>", "<h1>", "</h1>", "<unused7>", "[multimodal]"],
    "deepseek": [
        *(
            "<｜User｜>",
            "<｜Assistant｜>",
            "<think>",
            "</think>",
            "<|EOT|>",
            "<｜fim▁hole｜>",
            "<｜fim▁begin｜>",
            "<｜fim▁end｜>",
        ),
        *(
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            "<｜tool▁call▁begin｜>",
            "<｜tool▁call▁end｜>",
            "<｜tool▁sep｜>",
        ),
        *("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ],
}

# Templates in the manner of families that write earlier turns again, with the family whose tokens they use.
QWEN3 = """\
{%- set state = namespace(last=messages|length - 1, open=true) %}
{%- for message in messages[::-1] %}
    {%- if state.open and message.role == 'user' %}
        {%- set state.open = false %}{% set state.last = messages|length - 1 - loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {%- set content = message.content %}{% set thinking = message.reasoning_content or '' %}
        {%- if not thinking and '</think>' in content %}
            {%- set thinking = content.split('</think>')[0].split('<think>')[-1].strip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.index0 > state.last and thinking %}{{ '<think>\\n' + thinking + '\\n</think>\\n\\n' }}{% endif %}
        {{- content + '<|im_end|>\\n' }}
    {%- else %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LATE_SYSTEM = """\
{%- set system = '' %}{% set turns = messages %}
{%- if messages[0].role == 'system' %}{% set system = messages[0].content + '\\n\\n' %}{% set turns = messages[1:] %}{% endif %}
{{- bos_token }}
{%- for message in turns %}
    {%- if message.role == 'user' %}{{ '[INST] ' + (system if loop.last else '') + message.content + ' [/INST]' }}
    {%- else %}{{ message.content + eos_token }}{% endif %}
{%- endfor %}
"""

FIRST_SYSTEM = """\
{{- bos_token }}
{%- set first = messages[0].content + '\\n\\n' if messages[0].role == 'system' else '' %}
{%- for message in (messages[1:] if messages[0].role == 'system' else messages) %}
    {%- set role = 'model' if message.role == 'assistant' else message.role %}
    {{- '<start_of_turn>' + role + '\\n' + (first if loop.first else '') + (message.content | trim) + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

ANALYSIS = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {%- set state = namespace(later=false) %}
        {%- for other in messages[loop.index0 + 1:] %}{% if other.role == 'user' %}{% set state.later = true %}{% endif %}{% endfor %}
        {%- if message.thinking and not state.later %}
            {{- '<|start|>assistant<|channel|>analysis<|message|>' + message.thinking + '<|end|>' }}
        {%- endif %}
        {{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}
    {%- else %}{{ '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}
"""

REWRITING = {
    "qwen3": ("chatml", QWEN3),
    "late system": ("mistral", LATE_SYSTEM),
    "first system": ("gemma", FIRST_SYSTEM),
    "analysis": ("harmony", ANALYSIS),
}
