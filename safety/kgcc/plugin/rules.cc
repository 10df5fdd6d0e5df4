// SPDX-License-Identifier: GPL-2.0
/* The language of rules: a lexer of words, and a recursive-descent parser. */
#include "pairs.h"
#include "rules.h"

auto_vec<struct rule *> rules;

/* Event names as in evmon; the last one is the first user-defined one. */
static const char *const events[] = {
#define EVENT(name, class, text) #name,
#include "../../evmon/events.def"
#undef EVENT
};

static struct {
	const char *file;
	const char *at;			/* what comes next */
	unsigned int line, column;
	const char *word;		/* "" at the end */
	unsigned int word_line, word_column;
	bool good;			/* no error in this rule so far */
} input;

/* -- words ------------------------------------------------------------------------ */

static bool is_name_character(char c)
{
	return ISALNUM(c) || c == '_' || c == '*' || c == '?';
}

static void skip(unsigned int count)
{
	for (; count; count--) {
		input.column++;
		if (*input.at++ == '\n') {
			input.line++;
			input.column = 1;
		}
	}
}

static void skip_space(void)
{
	while (ISSPACE(*input.at) || *input.at == '#')
		skip(*input.at == '#' ? strcspn(input.at, "\n") : 1);
}

static unsigned int length_of_word(const char *at)
{
	unsigned int length = 0;

	while (is_name_character(at[length]))
		length++;
	if (length)
		return length;
	/* == != <= >= */
	return *at ? 1 + (strchr("=!<>", *at) && at[1] == '=') : 0;
}

static void next_word(void)
{
	unsigned int length;

	skip_space();
	length = length_of_word(input.at);
	input.word = xstrndup(input.at, length);
	input.word_line = input.line;
	input.word_column = input.column;
	skip(length);
}

static bool is_word(const char *word)
{
	return !strcmp(input.word, word);
}

static bool is_name(void)
{
	return is_name_character(*input.word);
}

/* Only the first error of a rule: later ones would follow from it. */
static void bad_word(const char *message)
{
	if (input.good)
		error_at(UNKNOWN_LOCATION, "%s:%u:%u: %s", input.file, input.word_line,
			 input.word_column, message);
	input.good = false;
}

static void expected(const char *what)
{
	const char *word = *input.word ? ACONCAT(("'", input.word, "'", NULL)) : "the end";

	bad_word(ACONCAT(("expected ", what, ", not ", word, NULL)));
}

static bool take(const char *word)
{
	if (!input.good || !is_word(word))
		return false;
	next_word();
	return true;
}

static void need(const char *word)
{
	if (!take(word))
		expected(ACONCAT(("'", word, "'", NULL)));
}

static const char *need_name(const char *what)
{
	const char *name = input.word;

	if (!input.good || !is_name() || ISDIGIT(*name)) {
		expected(what);
		return "";
	}
	next_word();
	return name;
}

static HOST_WIDE_INT need_number(const char *what)
{
	bool negative = take("-");
	HOST_WIDE_INT number;
	char *end;

	errno = 0;
	number = strtoll(input.word, &end, 0);
	if (!ISDIGIT(*input.word) || *end || errno || number != (int)number) {
		expected(what);
		return 0;
	}
	next_word();
	return negative ? -number : number;
}

/* -- what is matched ---------------------------------------------------------------- */

static struct field_pattern read_field(void)
{
	struct field_pattern field = {};

	field.structure = need_name("the name of a structure");
	need(".");
	field.member = need_name("the name of a member");
	if (take("of")) {
		take("struct");
		field.type = need_name("the name of a type");
	}
	return field;
}

static struct argument_pattern read_argument(void)
{
	struct argument_pattern argument = {};

	if (take("_"))
		return argument;
	if (take("&")) {
		argument.kind = ARGUMENT_FIELD;
		argument.field = read_field();
	} else if (take("struct")) {
		argument.kind = ARGUMENT_POINTER;
		argument.structure = need_name("the name of a structure");
	} else {
		argument.kind = ARGUMENT_NUMBER;
		argument.number = need_number("'_', '&' and a member, 'struct', or a number");
	}
	return argument;
}

static void read_call(struct rule *rule)
{
	rule->callee = need_name("the name of a function");
	rule->any_arguments = !take("(");
	if (rule->any_arguments || take(")"))
		return;
	do
		rule->arguments.safe_push(read_argument());
	while (take(","));
	need(")");
}

static bool read_match(struct rule *rule)
{
	static const struct {
		const char *word;
		unsigned int operations;
	} kinds[] = {
		{ "load", OPERATION_LOAD }, { "store", OPERATION_STORE },
		{ "address", OPERATION_ADDRESS },
		{ "access", OPERATION_LOAD | OPERATION_STORE | OPERATION_ADDRESS },
	};

	if (take("call")) {
		read_call(rule);
		return input.good;
	}
	for (const auto &kind : kinds) {
		if (!take(kind.word))
			continue;
		rule->operations = kind.operations;
		rule->field = read_field();
		return input.good;
	}
	expected("'load', 'store', 'address', 'access', 'call' or 'pair'");
	return false;
}

/* -- what follows --------------------------------------------------------------------- */

static struct term read_term(const struct rule *rule)
{
	struct term term = {};

	if (rule->operations && take("address")) {
		term.kind = TERM_ADDRESS;
	} else if (rule->operations && take("value")) {
		term.kind = TERM_VALUE;
	} else if (!rule->operations && take("result")) {
		term.kind = TERM_RESULT;
	} else if (!rule->operations && take("argument")) {
		term.kind = TERM_ARGUMENT;
		term.number = need_number("the number of an argument, from 1");
	} else {
		term.kind = TERM_NUMBER;
		term.number = need_number(rule->operations ? "'address', 'value' or a number"
							   : "'argument', 'result' or a number");
	}
	return term;
}

static unsigned int read_event(void)
{
	const unsigned int count = ARRAY_SIZE(events);
	unsigned int event = 0;

	while (event < count && !is_word(events[event]))
		event++;
	if (event == count) {
		expected("an event of evmon(8)'s, in capitals");
		return 0;
	}
	next_word();
	if (event == count - 1 && take("+"))
		event += need_number("a number");
	return event;
}

static const char *need_relation(void)
{
	static const char *const relations[] = { "==", "!=", "<", "<=", ">", ">=" };

	for (const char *relation : relations)
		if (take(relation))
			return relation;
	expected("'==', '!=', '<', '<=', '>' or '>='");
	return "";
}

/* The text from one word to another, spelled as in the rule. */
static const char *text_between(const char *from, const char *to)
{
	while (to > from && ISSPACE(to[-1]))
		to--;
	return xstrndup(from, to - from);
}

static const char *start_of_word(void)
{
	return input.at - strlen(input.word);
}

static struct action read_check(const struct rule *rule)
{
	struct action action = {};
	const char *start = start_of_word();

	action.kind = ACTION_BOUNDS;
	if (rule->operations && (is_word(",") || is_word(";")))
		return action;
	action.value = read_term(rule);
	if (action.value.kind == TERM_ARGUMENT && (is_word(",") || is_word(";")))
		return action;
	action.kind = ACTION_COMPARE;
	action.relation = need_relation();
	action.number = need_number("a number");
	action.text = text_between(start, start_of_word());
	return action;
}

static struct action read_action(const struct rule *rule)
{
	struct action action = {};

	if (take("check"))
		return read_check(rule);
	if (!take("event")) {
		expected("'event' or 'check'");
		return action;
	}
	action.kind = ACTION_EVENT;
	if (!options.events)
		bad_word("events need evmon: build with SAFETY=kgcc,evmon");
	action.event = read_event();
	if (!take("("))
		return action;
	action.object = read_term(rule);
	if (take(","))
		action.value = read_term(rule);
	need(")");
	return action;
}

/* -- all of it -------------------------------------------------------------------------- */

static void end_rule(void)
{
	if (input.good && !is_word(";"))
		expected("',' or ';'");
	/* Skip to the next rule, which may be good. */
	while (*input.word && !is_word(";"))
		next_word();
	if (*input.word)
		next_word();
}

static struct half read_half(bool is_taker)
{
	struct half half = { need_name("the name of a function"), OBJECT_NONE, OUTCOME_ANY };

	if (take("(")) {
		if (is_taker && take("result"))
			half.object = OBJECT_RESULT;
		else if (take("argument"))
			half.object = need_number("the number of an argument, from 1");
		else
			expected(is_taker ? "'argument' or 'result'" : "'argument'");
		need(")");
	}
	if (is_taker && take("if")) {
		if (take("zero"))
			half.outcome = OUTCOME_ZERO;
		else if (take("nonzero"))
			half.outcome = OUTCOME_NONZERO;
		else
			expected("'zero' or 'nonzero'");
	}
	return half;
}

static void read_pair(void)
{
	struct pair *pair = new struct pair();

	do
		pair->takers.safe_push(read_half(true));
	while (take(","));
	need(":");
	do
		pair->givers.safe_push(read_half(false));
	while (take(","));
	end_rule();
	pairs.safe_push(pair);
}

static void read_rule(void)
{
	struct rule *rule = new struct rule();

	rule->place = xasprintf("%s:%u", lbasename(input.file), input.word_line);
	read_match(rule);
	if (take("in"))
		rule->function = need_name("the name of a function");
	need(":");
	do
		rule->actions.safe_push(read_action(rule));
	while (take(","));
	end_rule();
	rules.safe_push(rule);
}

static char *read_file(const char *name)
{
	FILE *file = fopen(name, "r");
	char *text = NULL;
	size_t size = 0;
	ssize_t length = file ? getdelim(&text, &size, 0, file) : -1;

	if (file)
		fclose(file);
	/* An empty file has no text. */
	return length < 0 && file ? xstrdup("") : text;
}

void read_rules(const char *file)
{
	char *text = read_file(file);

	if (!text) {
		error_at(UNKNOWN_LOCATION, "%s: rules cannot be read: %m", file);
		return;
	}
	input = { file, text, 1, 1, "", 1, 1, true };
	next_word();
	while (*input.word) {
		input.good = true;
		if (take("pair"))
			read_pair();
		else
			read_rule();
	}
}
