/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators, as programs choose and see them. */
#include "stage/operator.h"
#include "stage/reader.h"
#include "stage/writer.h"

static int choose(struct wio_stg_writer *w, int variable, const char *name, const char *parameters)
{
    struct wio_stg_defined *d = wio_stg_find_defined(w, variable);
    struct wio_stg_operator op;
    char text[WIO_STG_OPERATOR], why[WIO_STG_WHY - 300];
    int rc;

    if (d == NULL)
        return WAITIO_ERR_ARG;
    if (w->now != NULL && d->puts > 0)
        return wio_stg_fail(WAITIO_ERR_STATE,
                            "variable '%s' was put in this step already; choose its operator "
                            "before",
                            d->name);
    rc = wio_stg_operator_text(text, name != NULL ? name : "none", parameters);
    if (rc == 0)
        rc = wio_stg_operator_read(&op, text);
    if (rc == 0)
        rc = wio_stg_operator_ready(&op, d->type);
    if (rc == 0) {
        d->op = op;
        wio_stg_text(d->op_text, sizeof d->op_text, "%s", text);
        return 0;
    }
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    return wio_stg_fail(rc, "variable '%s': %s", d->name, why);
}

int waitio_stage_operator(waitio_stage_t s, int variable, const char *name, const char *parameters)
{
    int rc = wio_stg_writers_only(s);

    return wio_stg_told(s, rc == 0 ? choose(s->w, variable, name, parameters) : rc);
}

int waitio_stage_get_operator(waitio_stage_t s, const char *name, const char **text)
{
    struct waitio_stage_variable v;
    const struct wio_stg_array *a;
    int rc = waitio_stage_inquire(s, name, &v);

    *text = "";
    if (rc != 0)
        return rc;
    a = wio_stg_layout_find(&s->r->layout, name);
    if (a != NULL)
        *text = a->op;
    return 0;
}
